import type { QuotaReading } from '../../api/operator.ts';
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

/** What the form of a new instance begins with. */
export const newInstanceValues = {
  slug: '',
  host: null,
  labels: {},
  quotas: {},
  template: '',
  superuser: { email: '', password: '' },
  endpoints: [{ url: '' }],
} as const;
