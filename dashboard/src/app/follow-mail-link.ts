import { basePath } from '../api/client.ts';

/**
 * Leads a link as the templates of mails have it, `/_/#/auth/confirm-verification/{TOKEN}`, to the page of its own. The token stays behind the
 * `#`: it is sent to no server, and stands in no log of a proxy. Called before the router looks at the address.
 */
export function followMailLink(): void {
  const [, action, token] = /^#\/auth\/(confirm-[a-z-]+)\/([\w.-]+)\/?$/.exec(location.hash) ?? [];
  if (action !== undefined && token !== undefined)
    history.replaceState(null, '', `${basePath}auth/${action}#${token}`);
}
