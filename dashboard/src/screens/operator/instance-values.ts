import type { ManagedInstance, QuotaReading } from '../../api/operator.ts';
import { byteSize } from '../../parts/byte-size.ts';
import { membersOf } from '../../api/members-of.ts';

export type QuotaName = QuotaReading['name'];

interface QuotaText {
  readonly label: string;
  readonly isBytes?: true;
}

const quotaTexts: Readonly<Record<QuotaName, QuotaText>> = {
  records: { label: 'Records' },
  collections: { label: 'Collections' },
  endpoints: { label: 'Endpoints' },
  dataBytes: { label: 'Data', isBytes: true },
  fileBytes: { label: 'Files', isBytes: true },
  requestsPerSecond: { label: 'Requests per second' },
  writesPerSecond: { label: 'Writes per second' },
  deliveriesPerDay: { label: 'Deliveries per day' },
  realtimeConnections: { label: 'Realtime connections' },
  concurrentRequests: { label: 'Concurrent requests' },
};

export const quotaNames = membersOf(quotaTexts);

export function quotaLabel(name: QuotaName): string {
  return quotaTexts[name].label;
}

export function isByteQuota(name: QuotaName): boolean {
  return quotaTexts[name].isBytes === true;
}

/** `1,000`, or `5.0 GB` for bytes. */
export function quotaAmount(name: QuotaName, amount: number): string {
  return isByteQuota(name) ? bytesText(amount) : amount.toLocaleString();
}

/** A size, which may be nothing. */
export function bytesText(bytes: number): string {
  return bytes === 0 ? '0' : byteSize(bytes);
}

/** What the form of an instance holds, as texts. */
export interface InstanceValues {
  readonly slug: string;
  readonly host: string;
  /** `name=value`, one a line. */
  readonly labels: string;
  readonly quotas: Readonly<Partial<Record<QuotaName, string>>>;
}

export const blankValues: InstanceValues = { slug: '', host: '', labels: '', quotas: {} };

export function toValues({ slug, host, labels, quotas }: ManagedInstance): InstanceValues {
  const lines = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  const known = quotaNames.flatMap((name) => {
    const max = quotas[name];
    return max === undefined ? [] : [[name, quotaInput(name, max)] as const];
  });
  return { slug, host: host ?? '', labels: lines.join('\n'), quotas: Object.fromEntries(known) };
}

/** What the API takes. A quota that is no number goes as it is, so that the service says what is wrong with it. */
export function encodeInstance({ slug, host, labels, quotas }: InstanceValues) {
  const limits = quotaNames.flatMap((name) => {
    const text = (quotas[name] ?? '').trim();
    return text === '' ? [] : [[name, parseQuota(name, text)] as const];
  });
  return {
    slug: slug.trim(),
    host: host.trim() === '' ? null : host.trim(),
    labels: parseLabels(labels),
    // Checked by the service, which names the member.
    quotas: Object.fromEntries(limits) as Readonly<Record<string, number>>,
  };
}

function parseLabels(text: string): Readonly<Record<string, string>> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...value] = line.split('=');
      return [name.trim(), value.join('=').trim()];
    }),
  );
}

const units = ['KiB', 'MiB', 'GiB', 'TiB'] as const;
const step = 1024;

/** `5 GiB` where that is exact, else the bytes. */
function quotaInput(name: QuotaName, max: number): string {
  if (!isByteQuota(name) || max === 0) return String(max);
  const unit = units.findLastIndex((_, index) => max % step ** (index + 1) === 0);
  return unit === -1 ? String(max) : `${max / step ** (unit + 1)} ${units[unit] ?? ''}`;
}

function parseQuota(name: QuotaName, text: string): number | string {
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?)\s*([KMGT]i?B)?$/i.exec(text.replaceAll(',', '')) ?? [];
  if (digits === undefined || (unit !== '' && !isByteQuota(name))) return text;
  if (unit === '') return Number(digits);
  const power = units.findIndex((one) => one.startsWith(unit.slice(0, 1).toUpperCase())) + 1;
  return Math.round(Number(digits) * step ** power);
}
