import type { ConfiguredProvider, Provider, ProviderOptions } from './provider.ts';
import { providerTable } from './provider-table.ts';

export function findProvider(name: string): Provider | undefined {
  return providerTable.get(name);
}

/** Returns a provider with the options of a collection. Undefined for a name that this version does not know. */
export function configureProvider(options: ProviderOptions): ConfiguredProvider | undefined {
  const provider = findProvider(options.name);
  if (provider === undefined) return undefined;
  const { name, clientId, pkce, displayName, extra } = options;
  const url = (own: string, builtIn = ''): string => (own === '' ? builtIn : own);
  const { issuers = [], jwksURL } = extra;
  return {
    ...provider,
    ...(provider.isOpenId && jwksURL !== undefined && { idTokens: { issuers, jwksURL } }),
    name,
    clientId,
    displayName: url(displayName, provider.displayName),
    authURL: url(options.authURL, provider.authURL),
    tokenURL: url(options.tokenURL, provider.tokenURL),
    userInfoURL: url(options.userInfoURL, provider.userInfoURL),
    usesPkce: pkce ?? provider.pkce !== false,
    issuer: provider.isOpenId === true ? extra.issuer : undefined,
  };
}

/** Returns what clients may offer to choose from. */
export function listProviders(): readonly {
  readonly name: string;
  readonly displayName: string;
  readonly logo: string;
}[] {
  return [...providerTable].map(([name, { displayName }]) => ({
    name,
    displayName,
    logo: logoOf(displayName),
  }));
}

/** The first letter of a provider in a circle: its own artwork belongs to it. */
export function logoOf(displayName: string): string {
  const letter = displayName
    .replace(/[^\p{L}\p{N}]/gu, '')
    .slice(0, 1)
    .toUpperCase();
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="15" fill="#64748b"/><text x="16" y="22" font-family="sans-serif" font-size="17" text-anchor="middle" fill="#fff">${letter}</text></svg>`;
}
