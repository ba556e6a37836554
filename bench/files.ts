import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { startChild } from './support/child.ts';
import { compare, type Measurement } from './support/compare.ts';
import { runLoad } from './support/load.ts';
import { median } from './support/median.ts';
import { type BenchOptions, engineOf, warmedUpOnce } from './support/options.ts';
import { report } from './support/report.ts';
import { type Service, startService } from './support/service.ts';

const smallBytes = 20_000;
const largeBytes = 10_000_000;
const uploadBytes = 100_000_000;
const pieceBytes = 64 * 1024;
const imagesMax = 20;

/** How fast are files? Served against `@fastify/static`, taken against a file that is written and synced; and thumbs of photos. */
export async function files(options: BenchOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'chancery-bench-files-'));
  const service = await startService(0, options);
  await service.api('/api/collections', {
    name: 'files',
    createRule: '',
    viewRule: '',
    fields: [{ name: 'file', type: 'file', maxSize: 2 * uploadBytes }],
  });
  await serving(service, folder, options);
  await taking(service, folder, options);
  await thumbs(service, options);
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function serving(service: Service, folder: string, options: BenchOptions): Promise<void> {
  const { seconds } = options;
  const bare = await startChild('bench/support/static-server.ts', [folder], { core: 0 });
  for (const [what, bytes, connections] of [
    ['a file of 20 KB', smallBytes, 64],
    ['a file of 10 MB', largeBytes, 8],
  ] as const) {
    const content = Buffer.alloc(bytes, 'abcdefgh');
    writeFileSync(join(folder, 'file.txt'), content);
    const url = service.url + (await upload(service, new Blob([content])));
    await compare(
      {
        what,
        engine: engineOf(options),
        rows: bytes,
        ours: () => runLoad({ url, pid: service.pid, connections, seconds }),
        ceiling: () => runLoad({ url: `${bare.url}/file.txt`, pid: bare.pid, connections, seconds }),
      },
      options,
    );
  }
  await bare.stop();
}

/** Bytes a second, in megabytes: an upload that is answered, and a file that is written and synced. */
async function taking(service: Service, folder: string, options: BenchOptions): Promise<void> {
  const content = Buffer.alloc(uploadBytes, 'abcdefgh');
  const timed = async (work: () => Promise<unknown>): Promise<Measurement> => {
    const startedMs = performance.now();
    await work();
    const ms = performance.now() - startedMs;
    return { perSecond: uploadBytes / 1_000 / ms, p50Ms: ms, p99Ms: ms, processorUs: undefined };
  };
  await compare(
    {
      what: 'an upload of 100 MB, in MB',
      engine: engineOf(options),
      rows: uploadBytes,
      ours: () => timed(() => upload(service, new Blob([content]))),
      ceiling: () => timed(() => writeAndSync(join(folder, 'upload'), content)),
    },
    warmedUpOnce(options),
  );
}

async function writeAndSync(path: string, content: Buffer): Promise<void> {
  const file = await open(path, 'w');
  for (let at = 0; at < content.length; at += pieceBytes)
    await file.write(content, at, Math.min(pieceBytes, content.length - at));
  await file.sync();
  await file.close();
}

/** Photos of twelve megapixels, each asked for once. */
async function thumbs(service: Service, options: BenchOptions): Promise<void> {
  const noise = { type: 'gaussian', mean: 128, sigma: 30 } as const;
  const create = { width: 4_000, height: 3_000, channels: 3, background: '#777', noise } as const;
  const photo = await sharp({ create }).jpeg({ quality: 80 }).toBuffer();
  const perSecond: number[] = [];
  for (let run = 0; run < options.runs; run += 1) {
    const paths: string[] = [];
    for (let count = 0; count < imagesMax; count += 1)
      paths.push(await upload(service, new Blob([new Uint8Array(photo)])));
    const startedMs = performance.now();
    await Promise.all(paths.map((path) => read(`${service.url}${path}?thumb=100x100`, photo.length)));
    perSecond.push((imagesMax * 1_000) / (performance.now() - startedMs));
  }
  const middle = median(perSecond);
  report(
    {
      what: 'thumbs of photos of 12 megapixels',
      figures: { perSecond: middle, photoBytes: photo.length },
      sentence: `${middle.toFixed(1)} a second, of photos of ${(photo.length / 1e6).toFixed(1)} MB`,
    },
    options,
  );
}

async function read(url: string, wholeBytes: number): Promise<void> {
  const answer = await fetch(url);
  const { byteLength } = await answer.arrayBuffer();
  if (!answer.ok || byteLength >= wholeBytes) throw new Error(`${url} is no thumb: ${answer.status}`);
}

/** Returns the path of the file. */
async function upload({ url }: Service, content: Blob): Promise<string> {
  const body = new FormData();
  body.set('file', content, 'file.txt');
  const answer = await fetch(`${url}/api/collections/files/records`, { method: 'POST', body });
  if (!answer.ok) throw new Error(`An upload was answered ${answer.status}: ${await answer.text()}`);
  // A record of the collection above.
  const { id, file } = (await answer.json()) as { readonly id: string; readonly file: string };
  return `/api/files/files/${id}/${file}`;
}
