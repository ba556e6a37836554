import { isJsonObject, type JsonObject } from '../base/json.ts';

/**
 * What the superusers of an instance decide about it. The order of members is the one in which they are shown.
 *
 *   merge-settings    a change over what is there, member by member
 *   check-settings    whether the whole makes sense
 *   settings-store    what is in force, in memory and in the database
 *   change-settings   the operation behind PATCH
 *
 * What only the operator may decide is a flag (config.ts) and never stands here.
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
    /** Bytes; 0 means what any body may have. */
    readonly maxBodySize: number;
  };
  readonly logs: {
    readonly maxDays: number;
    readonly minLevel: number;
    readonly logIP: boolean;
    readonly logAuthId: boolean;
  };
}

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

/** Of http-api.md sections 4 and 17; batches are on (A11). */
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
  logs: { maxDays: 5, minLevel: 0, logIP: true, logAuthId: false },
};

/** Members that are never shown: by the names that only secrets have. */
const secretNames: ReadonlySet<string> = new Set(['password', 'secret']);

/** As superusers see them. */
export function settingsToJson(settings: Settings): string {
  return JSON.stringify(settings, (name, value: unknown) => (secretNames.has(name) ? undefined : value));
}

/** The same settings with each secret that is not empty made another text; `path` is where it stands, as `backups.s3.secret`. */
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
  // Nothing but texts was put in the place of texts.
  return walk(settings, '') as Tree;
}
