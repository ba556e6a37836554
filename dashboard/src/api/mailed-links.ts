import { call } from './client.ts';

/** What a link in a mail to an account is for, as the path of its page names it. */
export const mailedActions = [
  'confirm-verification',
  'confirm-password-reset',
  'confirm-email-change',
] as const;

export type MailedAction = (typeof mailedActions)[number];

/** What a token from a mail says. Only the service can tell whether it is true: this is for what a page shows. */
export interface MailedToken {
  readonly text: string;
  /** The id of the collection of the account. */
  readonly collection: string;
  readonly email: string;
  /** The address to change to; empty in other mails. */
  readonly newEmail: string;
  readonly expires: Date;
}

/** Returns what is in a token, or undefined for a text that is none: a link that lost its end on the way. */
export function readMailedToken(text: string): MailedToken | undefined {
  const [, payload = ''] = text.split('.');
  try {
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (letter) =>
      letter.charCodeAt(0),
    );
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof claims !== 'object' || claims === null) return undefined;
    const members = new Map<string, unknown>(Object.entries(claims));
    const textOf = (name: string): string => {
      const value = members.get(name);
      return typeof value === 'string' ? value : '';
    };
    const collection = textOf('collectionId');
    const addresses = [textOf('email'), textOf('newEmail')];
    // Anybody can write a token that nobody has signed: the page must not say what they like.
    if (collection === '' || !addresses.every((address) => address === '' || isAddress(address)))
      return undefined;
    return {
      text,
      collection,
      email: textOf('email'),
      newEmail: textOf('newEmail'),
      expires: new Date(Number(members.get('exp')) * 1_000),
    };
  } catch {
    return undefined;
  }
}

function isAddress(text: string): boolean {
  return text.length <= 255 && /^[^\s@]+@[^\s@]+$/.test(text);
}

export interface NewPassword {
  readonly password: string;
  readonly passwordConfirm: string;
}

/** Does what a mail is for, with what its page has asked for besides. */
export async function confirmMailed(
  action: MailedAction,
  { collection, text: token }: MailedToken,
  members: Partial<NewPassword> = {},
): Promise<void> {
  const body = { token, ...members };
  await call(`POST /api/collections/{collection}/${action}`, { path: { collection }, body });
}

/** Asks for the same mail once more. A change of address can only be asked for by who is signed in. */
export async function requestAnother(
  action: Exclude<MailedAction, 'confirm-email-change'>,
  { collection, email }: MailedToken,
): Promise<void> {
  const options = { path: { collection }, body: { email } };
  if (action === 'confirm-verification')
    await call('POST /api/collections/{collection}/request-verification', options);
  else await call('POST /api/collections/{collection}/request-password-reset', options);
}
