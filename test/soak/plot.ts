import type { Sample } from './sampler.ts';

const [width, height, left, gap] = [880, 110, 70, 34];
const plots = [
  ['memoryMb', 'memory, MB'],
  ['descriptors', 'open descriptors'],
  ['logMb', 'log of events, MB'],
  ['dataMb', 'data folder, MB'],
  ['turnMs', 'longest turn, ms'],
  ['backlog', 'deliveries that wait'],
  ['acknowledged', 'acknowledged changes'],
] as const satisfies readonly (readonly [keyof Sample, string])[];

/** Draws the samples of a run: one line for each figure, over the minutes of the run. Returns SVG. */
export function plotOf(samples: readonly Sample[]): string {
  const endMs = Math.max(1, ...samples.map(({ atMs }) => atMs));
  const parts = plots.map(([name, title], index) => {
    const top = 20 + index * (height + gap);
    const values = samples.map((sample) => sample[name]);
    const most = Math.max(1, ...values);
    const points = samples.map(({ atMs, [name]: value }) => {
      const [x, y] = [left + (atMs / endMs) * width, top + height - (value / most) * height];
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    });
    return [
      `<text x="${left}" y="${top - 6}" font-weight="600">${title}</text>`,
      `<text x="${left - 8}" y="${top + 10}" text-anchor="end">${most.toLocaleString('en')}</text>`,
      `<text x="${left - 8}" y="${top + height}" text-anchor="end">0</text>`,
      `<rect x="${left}" y="${top}" width="${width}" height="${height}" fill="none" stroke="#ccd2da"/>`,
      `<polyline points="${points.join(' ')}" fill="none" stroke="#0f766e" stroke-width="1.5"/>`,
    ].join('');
  });
  const bottom = 20 + plots.length * (height + gap);
  const minutes = (endMs / 60_000).toFixed(1);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width + left + 20}" height="${bottom + 10}" font-family="sans-serif" font-size="12">`,
    '<rect width="100%" height="100%" fill="#fff"/>',
    ...parts,
    `<text x="${left + width}" y="${bottom - 14}" text-anchor="end">${minutes} minutes</text>`,
    '</svg>\n',
  ].join('\n');
}
