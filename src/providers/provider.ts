import type { JsonObject } from '../base/json.ts';

/**
 * Sign-in with the accounts of other services (OAuth 2.0 and OpenID Connect). This part knows the providers and speaks with them; whom a
 * user of a provider is signed in as is decided in `auth/`.
 *
 *   provider-table      the providers that are built in: endpoints, scopes, and where their answers have the user
 *   configure-provider  a provider with what a collection configures
 *   provider-requests   the way to providers: guarded, bounded, in turns
 *   exchange-code       an authorization code for tokens, and the checks of an ID token
 *   read-user           the user in the answer of a provider
 *   provider-client     the three of them as one sign-in
 */

/** A built-in provider. Endpoints that are left out must be configured. */
export interface Provider {
  readonly displayName: string;
  readonly authURL?: string;
  readonly tokenURL?: string;
  readonly userInfoURL?: string;
  /** With blanks in between. */
  readonly scopes?: string;
  /** Absent where it supports PKCE. */
  readonly pkce?: false;
  /** Further parameters of the authorization URL. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** How the client authenticates at the token endpoint; in the body when left out. */
  readonly clientAuth?: 'basic';
  /** What its ID tokens are checked against. It sends none, or none that is used, when left out. */
  readonly idTokens?: { readonly issuers: readonly string[]; readonly jwksURL: string };
  /** Whether it is any OpenID Connect issuer, whose endpoints and issuer are configured. */
  readonly isOpenId?: true;
  readonly user: UserPaths;
  /** A GraphQL query by which it is asked for the user. */
  readonly query?: string;
  /** Further headers of the request for the user. */
  readonly headers?: (clientId: string) => Readonly<Record<string, string>>;
  /** A second request, for the user's addresses. */
  readonly emails?: EmailList;
}

/**
 * Where the answer for a user has what: paths of names and positions with dots in between. Several paths with blanks in between are texts to join. The
 * answer of the token endpoint is at `token`.
 */
export interface UserPaths {
  readonly id: string;
  readonly name?: string;
  readonly username?: string;
  readonly avatarURL?: string | ((user: JsonObject) => string);
  readonly email?: string;
  /**
   * Paths that are true when the provider has verified the address. `always` where it never shows another one; left out where it
   * does not say.
   */
  readonly emailVerified?: string;
}

export interface EmailList {
  readonly url: (userInfoURL: string) => string;
  /** The path of the list; empty for the whole answer. */
  readonly list: string;
  readonly email: string;
  /** The paths that are all true for the address to use. */
  readonly conditions: string;
}

/** A provider as a collection has it, without its secret. The members are those of the API, in their order. */
export interface ProviderOptions {
  /** Null for the default of the provider. */
  readonly pkce: boolean | null;
  readonly name: string;
  readonly clientId: string;
  /** Empty for those of the provider, as the other URLs and the name. */
  readonly authURL: string;
  readonly tokenURL: string;
  readonly userInfoURL: string;
  readonly displayName: string;
  readonly extra: ProviderExtra;
}

/** What an OpenID Connect issuer needs beyond its URLs. */
export interface ProviderExtra {
  /** Its endpoints, keys and issuer are those of its discovery document. */
  readonly issuer?: string;
  /** Where the keys of its ID tokens are. */
  readonly jwksURL?: string;
  /** What `iss` of an ID token may be. */
  readonly issuers?: readonly string[];
}

/** A provider with all that its collection configures. */
export interface ConfiguredProvider extends Provider {
  readonly name: string;
  readonly clientId: string;
  readonly authURL: string;
  readonly tokenURL: string;
  readonly userInfoURL: string;
  readonly usesPkce: boolean;
  /** Where its endpoints are found; undefined where they are configured. */
  readonly issuer: string | undefined;
}
