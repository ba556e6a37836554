declare const process: { readonly env: Readonly<Record<string, string | undefined>> };

export const url = process.env['CHANCERY_URL'] ?? '';

/** The superuser of the service. */
export const account = {
  identity: process.env['CHANCERY_EMAIL'] ?? '',
  password: process.env['CHANCERY_PASSWORD'] ?? '',
};

interface Answers {
  readonly list: { readonly items: readonly { readonly id: string }[]; readonly totalItems?: number };
  readonly read: { readonly title: string; readonly views: number; readonly kind: string };
  readonly refused: Refusal;
  readonly missing: Refusal;
}

interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly data: object;
}

/** Prints what a client has read, for `npm run generators` to compare. */
export function finish({ list, read, refused, missing }: Answers): void {
  const { title, views, kind } = read;
  const found = { listed: list.items.length, total: list.totalItems, title, views, kind };
  console.log(JSON.stringify({ ...found, refused: refused.data, status: missing.status }));
}

export function required<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('expected an answer');
  return value;
}
