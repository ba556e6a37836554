import { basePath } from '../api/client.ts';
import { readText, writeText } from './preferences.ts';

/** Kept by the browser, so that a page has its colour from its first paint on. Each instance has its own. */
const key = `chancery:${basePath}:accent`;

/** What a new instance has: it stands for the colours of tokens.css. */
const unset = '#1055c9';

type Color = readonly [number, number, number];

const white: Color = [255, 255, 255];
const black: Color = [0, 0, 0];
/** The surfaces of tokens.css on which the accent has the least contrast. */
const surfaces = { light: [233, 236, 241], dark: [35, 40, 45] } as const satisfies Record<string, Color>;
const contrastMin = 4.5;

/** Sets the accent of the page to that of the settings, made darker or lighter until texts of it and on it can be read. */
export function setAccent(text: string): void {
  writeText(key, text === unset ? undefined : text);
  showAccent(text);
}

/** Sets the accent that was there the last time. */
export function restoreAccent(): void {
  showAccent(readText(key) ?? '');
}

function showAccent(text: string): void {
  const { style } = document.documentElement;
  const color = text.toLowerCase() === unset ? undefined : parseColor(text);
  const values = color === undefined ? new Map<string, string>() : tokensOf(color);
  for (const name of names) {
    const value = values.get(name);
    if (value === undefined) style.removeProperty(name);
    else style.setProperty(name, value);
  }
}

const names = [
  '--accent',
  '--accent-fill',
  '--accent-fill-hover',
  '--accent-soft',
  '--surface-selected',
  '--focus',
];

function tokensOf(color: Color): ReadonlyMap<string, string> {
  const dark = towards(color, black, (shade) => contrast(shade, surfaces.light) >= contrastMin);
  const light = towards(color, white, (tint) => contrast(tint, surfaces.dark) >= contrastMin);
  const fill = towards(color, black, (shade) => contrast(shade, white) >= contrastMin);
  const both = (one: Color, other: Color): string => `light-dark(${toText(one)}, ${toText(other)})`;
  // Lighter than the surfaces above, and darker: what can be read on those can be read on these.
  const soft = both(mix(dark, white, 0.9), mix(light, [18, 20, 23], 0.86));
  return new Map([
    ['--accent', both(dark, light)],
    ['--focus', both(dark, light)],
    ['--accent-fill', toText(fill)],
    ['--accent-fill-hover', toText(mix(fill, black, 0.12))],
    ['--accent-soft', soft],
    ['--surface-selected', soft],
  ]);
}

/** Goes from a colour to another in small steps until it is good enough. */
function towards(from: Color, to: Color, isEnough: (color: Color) => boolean): Color {
  for (let part = 0; part < 1; part += 0.04) {
    const color = mix(from, to, part);
    if (isEnough(color)) return color;
  }
  return to;
}

function mix(from: Color, to: Color, part: number): Color {
  const at = (index: 0 | 1 | 2): number => Math.round(from[index] + (to[index] - from[index]) * part);
  return [at(0), at(1), at(2)];
}

/** By WCAG 2.2: from 1 for the same colour to 21 for black on white. */
function contrast(one: Color, other: Color): number {
  const [high = 0, low = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

function luminance(color: Color): number {
  const [red, green, blue] = color.map((part) => {
    const value = part / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0);
}

/** Reads `#1055c9` and `#15c`, as the settings may have them. */
function parseColor(text: string): Color | undefined {
  const [, digits] = /^#((?:[0-9a-f]{3}){1,2})$/i.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const size = digits.length / 3;
  const at = (index: number): number =>
    Number.parseInt(digits.slice(index * size, (index + 1) * size).repeat(size === 1 ? 2 : 1), 16);
  return [at(0), at(1), at(2)];
}

function toText(color: Color): string {
  return `rgb(${color.join(' ')})`;
}
