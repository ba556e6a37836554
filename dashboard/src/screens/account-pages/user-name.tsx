import type { MailedToken } from '../../api/mailed-links.ts';

/** Tells password managers whose password it is. */
export function UserName({ token }: { readonly token: MailedToken }) {
  return <input type="hidden" name="username" autoComplete="username" value={token.email} />;
}
