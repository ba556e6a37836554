import { sql, type Sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';
import { instanceDeliveryLog } from './instance-delivery-log.ts';
import { batches } from './batches.ts';
import { endpointCertificates } from './endpoint-certificates.ts';
import { endpointDays } from './endpoint-days.ts';
import { mirrors } from './mirrors.ts';
import { portalLinks } from './portal-links.ts';
import { quotaRooms } from './quota-rooms.ts';
import { removalJobs } from './removal-jobs.ts';
import { storedFilters } from './stored-filters.ts';
import { verifiedEndpoints } from './verified-endpoints.ts';

// Rules, fields, indexes and options are one JSON text: they are only ever read and written together.
const collection = sql`CREATE TABLE "$collection" (
  position INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL COLLATE NOCASE UNIQUE,
  type TEXT NOT NULL,
  system INTEGER NOT NULL,
  definition TEXT NOT NULL,
  created TEXT NOT NULL,
  updated TEXT NOT NULL
) STRICT`;

// Values that must never be reachable through a collection's own table: password hashes, token keys, signing secrets.
// A collection's own secrets have the record ''.
const secret = sql`CREATE TABLE "$secret" (
  collection TEXT NOT NULL,
  record TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (collection, record, name)
) STRICT, WITHOUT ROWID`;

// The event log. AUTOINCREMENT, because a reader would skip a position that is reused after rows were deleted.
const event = sql`CREATE TABLE "$event" (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  collection TEXT NOT NULL,
  collection_name TEXT NOT NULL,
  record TEXT NOT NULL,
  revision INTEGER NOT NULL,
  created TEXT NOT NULL,
  body BLOB NOT NULL
) STRICT`;

const endpoint = sql`CREATE TABLE "$endpoint" (
  position INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  url TEXT NOT NULL,
  description TEXT NOT NULL,
  events TEXT NOT NULL,
  collections TEXT NOT NULL,
  headers TEXT NOT NULL,
  max_in_flight INTEGER NOT NULL,
  timeout_ms INTEGER NOT NULL,
  schedule TEXT,
  status TEXT NOT NULL,
  status_reason TEXT NOT NULL,
  secret TEXT NOT NULL,
  created TEXT NOT NULL,
  updated TEXT NOT NULL
) STRICT`;

// A delivery's id begins with its event's, so an event's deliveries are one range of the primary key.
const delivery = sql`CREATE TABLE "$delivery" (
  id TEXT PRIMARY KEY,
  event INTEGER NOT NULL,
  endpoint TEXT NOT NULL,
  status TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  due INTEGER NOT NULL,
  cause TEXT NOT NULL,
  created TEXT NOT NULL,
  updated TEXT NOT NULL
) STRICT, WITHOUT ROWID`;

const deliveryPending = sql`CREATE INDEX "$delivery_pending" ON "$delivery" (endpoint, due, event) WHERE status = 'pending'`;

const attempt = sql`CREATE TABLE "$attempt" (
  delivery TEXT NOT NULL,
  number INTEGER NOT NULL,
  started TEXT NOT NULL,
  kind TEXT NOT NULL,
  status INTEGER,
  cause TEXT NOT NULL,
  dns_ms REAL,
  connect_ms REAL,
  tls_ms REAL,
  first_byte_ms REAL,
  total_ms REAL NOT NULL,
  response_headers TEXT NOT NULL,
  response_body BLOB NOT NULL,
  PRIMARY KEY (delivery, number)
) STRICT, WITHOUT ROWID`;

// Answers of writes that came with an Idempotency-Key, by a digest of the caller and the request.
const idempotency = sql`CREATE TABLE "$idempotency" (
  id TEXT PRIMARY KEY,
  content TEXT NOT NULL,
  expires INTEGER NOT NULL,
  status INTEGER NOT NULL,
  headers TEXT NOT NULL,
  body TEXT
) STRICT`;
const idempotencyExpires = sql`CREATE INDEX "$idempotency_expires" ON "$idempotency" (expires)`;

// Settings of the instance, made by its superusers. `$setting` of control.db holds those of the whole service.
const instanceSetting = sql`CREATE TABLE "$instance_setting" (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID`;

// The key itself is kept as a digest; what it may reach as JSON texts, which are only ever read whole.
const apiKey = sql`CREATE TABLE "$api_key" (
  position INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  digest TEXT NOT NULL,
  scopes TEXT NOT NULL,
  collections TEXT NOT NULL,
  expires TEXT NOT NULL,
  created TEXT NOT NULL,
  last_used TEXT NOT NULL
) STRICT`;

// One row for each action; for actions that may happen often (`tallied`) one row for all equal ones of the same minute.
const audit = sql`CREATE TABLE "$audit" (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  tallied INTEGER NOT NULL,
  created TEXT NOT NULL,
  until TEXT NOT NULL,
  count INTEGER NOT NULL,
  action TEXT NOT NULL,
  outcome TEXT NOT NULL,
  actor TEXT NOT NULL,
  actor_id TEXT NOT NULL,
  address TEXT NOT NULL,
  request TEXT NOT NULL,
  collection TEXT NOT NULL,
  target TEXT NOT NULL,
  details TEXT NOT NULL
) STRICT`;
const auditCreated = sql`CREATE INDEX "$audit_created" ON "$audit" (created)`;
const auditTallied = sql`CREATE INDEX "$audit_tallied" ON "$audit" (position) WHERE tallied = 1`;

// Digests of the tokens by which the first superuser is made; each start of a node prints one.
const setupToken = sql`CREATE TABLE "$setup_token" (
  digest TEXT PRIMARY KEY,
  expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID`;

// As `event`, without the index on ids: nothing looks up an event by its id alone, and the index was a third of the cost of an insert.
const bareEvent = sql`CREATE TABLE "$bare_event" (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  collection TEXT NOT NULL,
  collection_name TEXT NOT NULL,
  record TEXT NOT NULL,
  revision INTEGER NOT NULL,
  created TEXT NOT NULL,
  body BLOB NOT NULL
) STRICT`;
// No row was ever deleted, so AUTOINCREMENT goes on from the highest position that was ever used.
const copyEvents = sql`INSERT INTO "$bare_event" SELECT * FROM "$event" ORDER BY position`;
const dropEvent = sql`DROP TABLE "$event"`;
const renameEvent = sql`ALTER TABLE "$bare_event" RENAME TO "$event"`;

// Unused here, where a single process never hands an attempt over; it exists so that statements are the same as on PostgreSQL.
const deliveryPutOff = sql`ALTER TABLE "$delivery" ADD COLUMN put_off_until INTEGER`;

// For the deliveries of GET /api/health: one step in an index, or one for each exhausted delivery, however many there are.
const deliveryOldest = sql`CREATE INDEX "$delivery_oldest" ON "$delivery" (created) WHERE status = 'pending'`;
const deliveryExhausted = sql`CREATE INDEX "$delivery_exhausted" ON "$delivery" (updated) WHERE status = 'exhausted'`;

// What is remembered of endpoints that fail, and of their deliveries that are due again as soon as they are back.
const lane = sql`CREATE TABLE "$lane" (
  endpoint TEXT PRIMARY KEY,
  state TEXT NOT NULL,
  since INTEGER NOT NULL,
  probe_at INTEGER NOT NULL,
  probe_delay INTEGER NOT NULL,
  held_until INTEGER NOT NULL,
  cause TEXT NOT NULL
) STRICT, WITHOUT ROWID`;
// How many attempts of an endpoint had which result, by ranges of their latency.
const endpointHour = sql`CREATE TABLE "$endpoint_hour" (
  endpoint INTEGER NOT NULL,
  hour INTEGER NOT NULL,
  result TEXT NOT NULL,
  latency INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (endpoint, hour, result, latency)
) STRICT, WITHOUT ROWID`;
// Files to remove when they are due: files whose record is gone, and files that no record names yet.
const fileRemoval = sql`CREATE TABLE "$file_removal" (
  key TEXT PRIMARY KEY,
  due INTEGER NOT NULL
) STRICT, WITHOUT ROWID`;
const fileRemovalDue = sql`CREATE INDEX "$file_removal_due" ON "$file_removal" (due)`;
const deliveryWide = sql`ALTER TABLE "$delivery" ADD COLUMN is_wide INTEGER NOT NULL DEFAULT 0`;
// What catchers were sent: the newest of each, for as long as it lasts.
const catcherRequest = sql`CREATE TABLE "$catcher_request" (
  number INTEGER PRIMARY KEY,
  catcher TEXT NOT NULL,
  expires INTEGER NOT NULL,
  received TEXT NOT NULL,
  method TEXT NOT NULL,
  headers TEXT NOT NULL,
  body TEXT NOT NULL,
  body_bytes INTEGER NOT NULL
) STRICT`;
const catcherRequestCatcher = sql`CREATE INDEX "$catcher_request_catcher" ON "$catcher_request" (catcher)`;
const catcherRequestExpires = sql`CREATE INDEX "$catcher_request_expires" ON "$catcher_request" (expires)`;
const eventHidden = sql`ALTER TABLE "$event" ADD COLUMN hidden TEXT`;
const endpointPayload = [
  sql`ALTER TABLE "$endpoint" ADD COLUMN payload TEXT NOT NULL DEFAULT 'full'`,
  sql`ALTER TABLE "$endpoint" ADD COLUMN fields TEXT NOT NULL DEFAULT '[]'`,
  sql`ALTER TABLE "$endpoint" ADD COLUMN cloud_events TEXT NOT NULL DEFAULT 'false'`,
];
const previousSecret = sql`ALTER TABLE "$endpoint" ADD COLUMN previous_secret TEXT NOT NULL DEFAULT ''`;
const previousSecretUntil = sql`ALTER TABLE "$endpoint" ADD COLUMN previous_secret_until TEXT NOT NULL DEFAULT ''`;
const eventTrace = sql`ALTER TABLE "$event" ADD COLUMN trace TEXT`;
const eventContext = sql`ALTER TABLE "$event" ADD COLUMN context TEXT`;
const eventExpunged = sql`ALTER TABLE "$event" ADD COLUMN expunged TEXT`;
const endpointOwner = [
  sql`ALTER TABLE "$endpoint" ADD COLUMN name TEXT NOT NULL DEFAULT ''`,
  sql`ALTER TABLE "$endpoint" ADD COLUMN filter TEXT NOT NULL DEFAULT ''`,
  sql`ALTER TABLE "$endpoint" ADD COLUMN contact TEXT NOT NULL DEFAULT ''`,
  sql`ALTER TABLE "$endpoint" ADD COLUMN owner TEXT NOT NULL DEFAULT ''`,
  sql`ALTER TABLE "$endpoint" ADD COLUMN oauth2 TEXT`,
];
const apiKeyEndpoints = sql`ALTER TABLE "$api_key" ADD COLUMN endpoints TEXT NOT NULL DEFAULT 'null'`;
// The collection of a backfill, where the log ended when it began, and why it stopped early.
const replayBackfill = [
  sql`ALTER TABLE "$replay" ADD COLUMN collection TEXT NOT NULL DEFAULT ''`,
  sql`ALTER TABLE "$replay" ADD COLUMN log_end INTEGER NOT NULL DEFAULT 0`,
  sql`ALTER TABLE "$replay" ADD COLUMN cause TEXT NOT NULL DEFAULT ''`,
];
// A lane reads only its own deliveries, however many the log has of others.
const deliveryEndpoint = sql`CREATE INDEX "$delivery_endpoint" ON "$delivery" (endpoint, event)`;
// The alerts that were sent about an endpoint, so that each is sent once.
const laneAlerts = [
  sql`ALTER TABLE "$lane" ADD COLUMN alert TEXT NOT NULL DEFAULT ''`,
  sql`ALTER TABLE "$lane" ADD COLUMN recovered_at INTEGER NOT NULL DEFAULT 0`,
  sql`ALTER TABLE "$lane" ADD COLUMN exhausted_day TEXT NOT NULL DEFAULT ''`,
];
// Up to where the log is decided for endpoints of accounts: all of them, or one that is behind the others, and why it is.
const accountDecisions = [
  sql`ALTER TABLE "$lane" ADD COLUMN decided INTEGER`,
  sql`ALTER TABLE "$lane" ADD COLUMN undecided TEXT NOT NULL DEFAULT ''`,
  sql`ALTER TABLE "$lane" ADD COLUMN undecided_since INTEGER NOT NULL DEFAULT 0`,
  // What lies before was decided by the writes themselves.
  sql`INSERT INTO "$instance_setting" (name, value) SELECT 'decided', CAST(coalesce((SELECT max(position) FROM "$event"), 0) AS TEXT)
    WHERE EXISTS (SELECT 1 FROM "$endpoint" WHERE owner <> '' AND deleted = '')`,
];

/** The tables that hold keys, the audit log and answers under idempotency keys, as they are now: control.db has them too. */
export const ownTables: readonly Sql[] = [
  idempotency,
  idempotencyExpires,
  apiKey,
  apiKeyEndpoints,
  audit,
  auditCreated,
  auditTallied,
];

/**
 * The internal tables of one instance. Their names begin with `$`, which no collection's name can. Times that are shown are
 * timestamps as text; times that are compared while delivering are milliseconds since 1970.
 */
export const instanceMigrations: readonly Migration[] = [
  {
    name: 'collections, secrets, events, endpoints, deliveries, attempts',
    statements: () => [collection, secret, event, endpoint, delivery, deliveryPending, attempt],
  },
  { name: 'idempotency keys', statements: () => [idempotency, idempotencyExpires], admits: 1 },
  { name: 'settings', statements: () => [instanceSetting], admits: 1 },
  { name: 'api keys', statements: () => [apiKey], admits: 1 },
  { name: 'audit log', statements: () => [audit, auditCreated, auditTallied], admits: 1 },
  { name: 'setup tokens', statements: () => [setupToken], admits: 1 },
  {
    name: 'events without an index on ids',
    statements: () => [bareEvent, copyEvents, dropEvent, renameEvent],
    admits: 1,
  },
  { name: 'deliveries that are put off', statements: () => [deliveryPutOff], admits: 1 },
  {
    name: 'the oldest delivery, and those that are exhausted',
    statements: () => [deliveryOldest, deliveryExhausted],
    admits: 1,
  },
  { name: 'lanes', statements: () => [lane, deliveryWide], admits: 1 },
  instanceDeliveryLog,
  { name: 'what became of attempts, by hours', statements: () => [endpointHour], admits: 1 },
  { name: 'hidden fields in events', statements: () => [eventHidden], admits: 1 },
  { name: 'files to be removed', statements: () => [fileRemoval, fileRemovalDue], admits: 1 },
  {
    name: 'requests to catchers',
    statements: () => [catcherRequest, catcherRequestCatcher, catcherRequestExpires],
    admits: 1,
  },
  { name: 'traces of events', statements: () => [eventTrace], admits: 1 },
  { name: 'secrets before a rotation', statements: () => [previousSecret, previousSecretUntil], admits: 1 },
  { name: 'payloads of endpoints', statements: () => endpointPayload, admits: 1 },
  { name: 'what has caused events', statements: () => [eventContext], admits: 1 },
  { name: 'names, filters and owners of endpoints', statements: () => endpointOwner, admits: 1 },
  { name: 'api keys for some endpoints', statements: () => [apiKeyEndpoints], admits: 1 },
  { name: 'backfills', statements: () => replayBackfill, admits: 1 },
  { name: 'events whose bodies are expunged', statements: () => [eventExpunged], admits: 1 },
  { name: 'alerts of lanes', statements: () => laneAlerts, admits: 1 },
  storedFilters,
  { name: 'decisions for endpoints of accounts', statements: () => accountDecisions, admits: 1 },
  { name: 'deliveries by endpoint', statements: () => [deliveryEndpoint], admits: 1 },
  removalJobs,
  quotaRooms,
  endpointCertificates,
  mirrors,
  portalLinks,
  endpointDays,
  verifiedEndpoints,
  batches,
];
