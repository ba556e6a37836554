import { type Cidr, isInCidr, parseCidr } from '../base/ip-address.ts';
import { isJsonObject, type JsonObject } from '../base/json.ts';

/**
 * What the superusers of an instance decide about it. Members are shown in this order. The map of this folder:
 *
 *   settings-store    the settings in force, in memory and in the database; merges a change over them, member by member
 *   check-settings    checks whether the result makes sense
 *   change-settings   the operation behind PATCH
 *
 * Anything that only the operator may decide is a flag (config.ts) and no setting.
 */
export interface Settings {
  /** Addresses and ranges that superusers may come from; none means everywhere. */
  readonly superuserIPs: readonly string[];
  readonly smtp: {
    readonly enabled: boolean;
    readonly port: number;
    readonly host: string;
    readonly username: string;
    readonly password: string;
    readonly authMethod: string;
    readonly tls: boolean;
    readonly localName: string;
  };
  readonly backups: { readonly cron: string; readonly cronMaxKeep: number; readonly s3: S3Settings };
  readonly s3: S3Settings;
  readonly meta: {
    readonly accentColor: string;
    readonly appName: string;
    readonly appURL: string;
    readonly senderName: string;
    readonly senderAddress: string;
    readonly hideControls: boolean;
    /** Origins of the sites that may show the dashboard in a frame; none by default. */
    readonly frameAncestors: readonly string[];
  };
  readonly rateLimits: {
    readonly rules: readonly RateLimitRule[];
    /** Addresses and ranges that are never limited. */
    readonly excludedIPs: readonly string[];
    readonly enabled: boolean;
  };
  readonly trustedProxy: { readonly headers: readonly string[]; readonly useLeftmostIP: boolean };
  readonly batch: {
    readonly enabled: boolean;
    readonly maxRequests: number;
    /** Seconds. */
    readonly timeout: number;
    /** Bytes; 0 allows as many as in any other body. */
    readonly maxBodySize: number;
  };
  readonly logs: {
    /** Bytes of the data of an entry; 0 for no limit of its own. */
    readonly maxDataSize: number;
    readonly maxDays: number;
    readonly minLevel: number;
    readonly logIP: boolean;
    readonly logAuthId: boolean;
  };
  readonly webhooks: {
    /** `always`, or `when told`: then a change that no endpoint receives is not logged, which saves its row, and there is no feed. */
    readonly events: string;
    /** How many endpoints accounts may have together. */
    readonly accountEndpointsMax: number;
    /** Whether the receiver of an account's endpoint must confirm that it wants webhooks before any is sent. */
    readonly verifyAccountEndpoints: boolean;
  };
  /** How portals look to customers. Everybody may know it, as their pages show it before anybody has signed in. */
  readonly portal: {
    /** Empty for `meta.appName`. */
    readonly name: string;
    /** An image as a `data:` URL; empty for the mark of the service. */
    readonly logo: string;
    /** Empty for `meta.accentColor`. */
    readonly accentColor: string;
    readonly theme: string;
    /** Where “Back” leads; empty for no such link. */
    readonly returnUrl: string;
  };
}

/** The settings with a closed set of texts: these texts by the path of the setting. */
export const settingChoices = {
  /** Empty is PLAIN. */
  'smtp.authMethod': ['', 'PLAIN', 'LOGIN'],
  /** Everybody, those without a valid token, and those with one. */
  'rateLimits.rules.audience': ['', '@guest', '@auth'],
  'portal.theme': ['auto', 'light', 'dark'],
  'webhooks.events': ['always', 'when told'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export interface S3Settings {
  readonly enabled: boolean;
  readonly bucket: string;
  readonly region: string;
  readonly endpoint: string;
  readonly accessKey: string;
  readonly secret: string;
  readonly forcePathStyle: boolean;
}

export interface RateLimitRule {
  readonly label: string;
  /** `''` is everybody, `@guest` and `@auth` are those without and with a valid token. */
  readonly audience: string;
  /** Seconds. */
  readonly duration: number;
  readonly maxRequests: number;
}

const s3: S3Settings = {
  enabled: false,
  bucket: '',
  region: '',
  endpoint: '',
  accessKey: '',
  secret: '',
  forcePathStyle: false,
};

/** Defaults of http-api.md sections 4 and 17, except that batches are on (A11). */
export const defaultSettings: Settings = {
  superuserIPs: [],
  smtp: {
    enabled: false,
    port: 587,
    host: 'smtp.example.com',
    username: '',
    password: '',
    authMethod: '',
    tls: false,
    localName: '',
  },
  backups: { cron: '', cronMaxKeep: 3, s3 },
  s3,
  meta: {
    accentColor: '#1055c9',
    appName: 'Acme',
    appURL: 'http://localhost:8090',
    senderName: 'Support',
    senderAddress: 'support@example.com',
    hideControls: false,
    frameAncestors: [],
  },
  rateLimits: {
    rules: [
      { label: '*:auth', audience: '', duration: 3, maxRequests: 2 },
      { label: '*:create', audience: '', duration: 5, maxRequests: 20 },
      { label: '/api/batch', audience: '', duration: 1, maxRequests: 3 },
      { label: '/api/', audience: '', duration: 10, maxRequests: 300 },
    ],
    excludedIPs: [],
    enabled: false,
  },
  trustedProxy: { headers: [], useLeftmostIP: false },
  batch: { enabled: true, maxRequests: 50, timeout: 3, maxBodySize: 0 },
  logs: { maxDataSize: 0, maxDays: 5, minLevel: 0, logIP: true, logAuthId: false },
  webhooks: { events: 'always', accountEndpointsMax: 200, verifyAccountEndpoints: true },
  portal: { name: '', logo: '', accentColor: '', theme: 'auto', returnUrl: '' },
};

/** Names of members that are never shown. Only secrets have these names. */
const secretNames: ReadonlySet<string> = new Set(['password', 'secret']);

/** Returns the settings as superusers see them, without secrets. */
export function settingsToJson(settings: Settings): string {
  return JSON.stringify(settings, (name, value: unknown) => (secretNames.has(name) ? undefined : value));
}

/** Returns the settings with each non-empty secret replaced by `change`; `path` is its place, as `backups.s3.secret`. */
export function mapSecrets<Tree extends Settings | JsonObject>(
  settings: Tree,
  change: (secret: string, path: string) => string,
): Tree {
  const walk = (value: unknown, path: string): unknown => {
    if (!isJsonObject(value)) return value;
    const members = Object.entries(value).map(([name, member]) => {
      const at = path === '' ? name : `${path}.${name}`;
      const isSecret = secretNames.has(name) && typeof member === 'string' && member !== '';
      return [name, isSecret ? change(member, at) : walk(member, at)];
    });
    return Object.fromEntries(members);
  };
  // The cast holds: only strings were replaced, by strings.
  return walk(settings, '') as Tree;
}

/** Limits of settings, because all instances share the resources of the service. */
export const settingsLimits = {
  textLengthMax: 2_000,
  /** Of a `data:` URL with an image of 32 KiB. */
  logoLengthMax: 43_800,
  listLengthMax: 200,
  frameAncestorsMax: 20,
  rateLimitSecondsMax: 86_400,
  batchRequestsMax: 1_000,
  /** Other writes of the instance wait while a batch is written. */
  batchSecondsMax: 10,
} as const;

const parsedRanges = new WeakMap<readonly string[], readonly Cidr[]>();

/** True when an address is in one of the ranges of a list of the settings. The ranges were checked when they were saved. */
export function isInRanges(address: Uint8Array, texts: readonly string[]): boolean {
  if (texts.length === 0) return false;
  const ranges = parsedRanges.get(texts) ?? texts.map(parseCidr);
  parsedRanges.set(texts, ranges);
  return ranges.some((range) => isInCidr(address, range));
}
