import { sql, type Sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';
import { laterPostgresMigrations } from './later-postgres-migrations.ts';
import { postgresDeliveryLog } from './postgres-delivery-log.ts';
import { postgresLogPartitions } from './postgres-log-partitions.ts';
import { storedFilters } from './stored-filters.ts';

/**
 * The schema `chancery`: the internal tables that all instances share, each key beginning with the instance. They hold what the
 * tables of control-migrations and instance-migrations hold; text columns are text here, too, compared bytewise.
 */
const schema = sql`CREATE SCHEMA IF NOT EXISTS chancery`;

const instance = sql`CREATE TABLE chancery.instance (
  position bigint GENERATED ALWAYS AS IDENTITY,
  id text COLLATE "C" PRIMARY KEY,
  slug text COLLATE "C" NOT NULL UNIQUE,
  host text COLLATE "C" UNIQUE,
  created text COLLATE "C" NOT NULL,
  version bigint NOT NULL DEFAULT 0
)`;

// Nodes keep an instance's definitions (collections, endpoints) in memory by this version; each change takes the next one.
const instanceVersion = sql`CREATE INDEX instance_version ON chancery.instance (version)`;
const version = sql`CREATE SEQUENCE chancery.version`;

const setting = sql`CREATE TABLE chancery.setting (
  name text COLLATE "C" PRIMARY KEY,
  value text COLLATE "C" NOT NULL
)`;

const collection = sql`CREATE TABLE chancery.collection (
  instance_id text COLLATE "C" NOT NULL,
  position bigint GENERATED ALWAYS AS IDENTITY,
  id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  system smallint NOT NULL,
  definition text COLLATE "C" NOT NULL,
  created text COLLATE "C" NOT NULL,
  updated text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance_id, id)
)`;
const collectionName = sql`CREATE UNIQUE INDEX collection_name ON chancery.collection (instance_id, lower(name))`;

const secret = sql`CREATE TABLE chancery.secret (
  instance_id text COLLATE "C" NOT NULL,
  collection text COLLATE "C" NOT NULL,
  record text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance_id, collection, record, name)
)`;

// Positions are drawn before their commit, so a reader that remembers where it was needs the transaction's id besides.
const event = sql`CREATE TABLE chancery.event (
  instance_id text COLLATE "C" NOT NULL,
  position bigint GENERATED ALWAYS AS IDENTITY,
  transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
  id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  collection text COLLATE "C" NOT NULL,
  collection_name text COLLATE "C" NOT NULL,
  record text COLLATE "C" NOT NULL,
  revision bigint NOT NULL,
  created text COLLATE "C" NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (instance_id, position)
)`;

const endpoint = sql`CREATE TABLE chancery.endpoint (
  instance_id text COLLATE "C" NOT NULL,
  position bigint GENERATED ALWAYS AS IDENTITY,
  id text COLLATE "C" NOT NULL,
  url text COLLATE "C" NOT NULL,
  description text COLLATE "C" NOT NULL,
  events text COLLATE "C" NOT NULL,
  collections text COLLATE "C" NOT NULL,
  headers text COLLATE "C" NOT NULL,
  max_in_flight integer NOT NULL,
  timeout_ms integer NOT NULL,
  schedule text COLLATE "C",
  status text COLLATE "C" NOT NULL,
  status_reason text COLLATE "C" NOT NULL,
  secret text COLLATE "C" NOT NULL,
  created text COLLATE "C" NOT NULL,
  updated text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance_id, id)
)`;

const delivery = sql`CREATE TABLE chancery.delivery (
  instance_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  event bigint NOT NULL,
  endpoint text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  attempts integer NOT NULL,
  due bigint NOT NULL,
  cause text COLLATE "C" NOT NULL,
  created text COLLATE "C" NOT NULL,
  updated text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance_id, id)
)`;
const deliveryPending = sql`CREATE INDEX delivery_pending ON chancery.delivery (instance_id, endpoint, due, event)
  WHERE status = 'pending'`;

// Finds the instances with pending deliveries, by one step in the index for each.
const deliveryInstance = sql`CREATE INDEX delivery_instance ON chancery.delivery (instance_id, due)
  WHERE status = 'pending'`;

const node = sql`CREATE TABLE chancery.node (
  id text COLLATE "C" PRIMARY KEY,
  version text COLLATE "C" NOT NULL,
  started timestamptz NOT NULL,
  seen timestamptz NOT NULL
)`;

const shardLease = sql`CREATE TABLE chancery.shard_lease (
  shard integer PRIMARY KEY,
  node text COLLATE "C",
  epoch bigint NOT NULL,
  expires timestamptz NOT NULL
)`;
const shards = sql`INSERT INTO chancery.shard_lease (shard, epoch, expires)
  SELECT shard, 0, now() FROM generate_series(0, 255) AS shard`;

const attempt = sql`CREATE TABLE chancery.attempt (
  instance_id text COLLATE "C" NOT NULL,
  delivery text COLLATE "C" NOT NULL,
  number integer NOT NULL,
  started text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  status integer,
  cause text COLLATE "C" NOT NULL,
  dns_ms double precision,
  connect_ms double precision,
  tls_ms double precision,
  first_byte_ms double precision,
  total_ms double precision NOT NULL,
  response_headers text COLLATE "C" NOT NULL,
  response_body bytea NOT NULL,
  PRIMARY KEY (instance_id, delivery, number)
)`;

const idempotency = sql`CREATE TABLE chancery.idempotency (
  instance_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  content text COLLATE "C" NOT NULL,
  expires bigint NOT NULL,
  status integer NOT NULL,
  headers text COLLATE "C" NOT NULL,
  body text COLLATE "C",
  PRIMARY KEY (instance_id, id)
)`;
const idempotencyExpires = sql`CREATE INDEX idempotency_expires ON chancery.idempotency (instance_id, expires)`;

const instanceSetting = sql`CREATE TABLE chancery.instance_setting (
  instance_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance_id, name)
)`;

const apiKey = sql`CREATE TABLE chancery.api_key (
  instance_id text COLLATE "C" NOT NULL,
  position bigint GENERATED ALWAYS AS IDENTITY,
  id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  scopes text COLLATE "C" NOT NULL,
  collections text COLLATE "C" NOT NULL,
  expires text COLLATE "C" NOT NULL,
  created text COLLATE "C" NOT NULL,
  last_used text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance_id, id)
)`;

const audit = sql`CREATE TABLE chancery.audit (
  instance_id text COLLATE "C" NOT NULL,
  position bigint GENERATED ALWAYS AS IDENTITY,
  id text COLLATE "C" NOT NULL,
  tallied smallint NOT NULL,
  created text COLLATE "C" NOT NULL,
  until text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  action text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  actor text COLLATE "C" NOT NULL,
  actor_id text COLLATE "C" NOT NULL,
  address text COLLATE "C" NOT NULL,
  request text COLLATE "C" NOT NULL,
  collection text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,
  details text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance_id, id)
)`;
const auditCreated = sql`CREATE INDEX audit_created ON chancery.audit (instance_id, created)`;
const auditTallied = sql`CREATE INDEX audit_tallied ON chancery.audit (instance_id, position) WHERE tallied = 1`;

const setupToken = sql`CREATE TABLE chancery.setup_token (
  instance_id text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  expires bigint NOT NULL,
  PRIMARY KEY (instance_id, digest)
)`;
// Not UNLOGGED: the log is needed most after a crash or a failover. Its commits wait for no sync.
const log = sql`CREATE TABLE chancery.log (
  instance_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  created text COLLATE "C" NOT NULL,
  level integer NOT NULL,
  message text COLLATE "C" NOT NULL,
  data text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance_id, id)
)`;
const logCreated = sql`CREATE INDEX log_created ON chancery.log (instance_id, created)`;

// UNLOGGED: counts are worthless after a crash. Free room in each page, as rows are updated more often than inserted.
const limitWindow = sql`CREATE UNLOGGED TABLE chancery.limit_window (
  instance_id text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  ends bigint NOT NULL,
  max bigint NOT NULL,
  given bigint NOT NULL,
  taken bigint NOT NULL,
  PRIMARY KEY (instance_id, key)
) WITH (fillfactor = 50)`;
const limitWindowEnds = sql`CREATE INDEX limit_window_ends ON chancery.limit_window (ends)`;

const tables: readonly Sql[] = [
  schema,
  instance,
  instanceVersion,
  version,
  setting,
  collection,
  collectionName,
  secret,
  event,
  endpoint,
  delivery,
  deliveryPending,
  deliveryInstance,
  node,
  shardLease,
  shards,
  attempt,
];

// The time until which an attempt may still be on its way from a node that has handed the delivery over.
const deliveryPutOff = sql`ALTER TABLE chancery.delivery ADD COLUMN put_off_until bigint`;

// For the deliveries of GET /api/health: one step in an index, or one for each exhausted delivery, however many there are.
const deliveryOldest = sql`CREATE INDEX delivery_oldest ON chancery.delivery (instance_id, created)
  WHERE status = 'pending'`;
const deliveryExhausted = sql`CREATE INDEX delivery_exhausted ON chancery.delivery (instance_id, updated)
  WHERE status = 'exhausted'`;

// What is remembered of endpoints that fail, and of their deliveries that are due again as soon as they are back.
const lane = sql`CREATE TABLE chancery.lane (
  instance_id text COLLATE "C" NOT NULL,
  endpoint text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  since bigint NOT NULL,
  probe_at bigint NOT NULL,
  probe_delay bigint NOT NULL,
  held_until bigint NOT NULL,
  cause text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance_id, endpoint)
)`;
// How many attempts of an endpoint had which result, by ranges of their latency.
const endpointHour = sql`CREATE TABLE chancery.endpoint_hour (
  instance_id text COLLATE "C" NOT NULL,
  endpoint bigint NOT NULL,
  hour bigint NOT NULL,
  result text COLLATE "C" NOT NULL,
  latency bigint NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (instance_id, endpoint, hour, result, latency)
) WITH (fillfactor = 50)`;
// Files to remove when they are due: files whose record is gone, and files that no record names yet.
const fileRemoval = sql`CREATE TABLE chancery.file_removal (
  instance_id text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  due bigint NOT NULL,
  PRIMARY KEY (instance_id, key)
)`;
const fileRemovalDue = sql`CREATE INDEX file_removal_due ON chancery.file_removal (instance_id, due)`;
const deliveryWide = sql`ALTER TABLE chancery.delivery ADD COLUMN is_wide integer NOT NULL DEFAULT 0`;
// Requests for clients that are connected to another node. They are of no use after a crash.
const realtimeRequest = sql`CREATE UNLOGGED TABLE chancery.realtime_request (
  id text COLLATE "C" PRIMARY KEY,
  instance_id text COLLATE "C" NOT NULL,
  request text COLLATE "C" NOT NULL,
  asked timestamptz NOT NULL DEFAULT now()
)`;
// What catchers were sent: the newest of each, for as long as it lasts.
const catcherRequest = sql`CREATE TABLE chancery.catcher_request (
  number bigint GENERATED ALWAYS AS IDENTITY,
  instance_id text COLLATE "C" NOT NULL,
  catcher text COLLATE "C" NOT NULL,
  expires bigint NOT NULL,
  received text COLLATE "C" NOT NULL,
  method text COLLATE "C" NOT NULL,
  headers text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL,
  body_bytes bigint NOT NULL,
  PRIMARY KEY (instance_id, number)
)`;
const catcherRequestCatcher = sql`CREATE INDEX catcher_request_catcher ON chancery.catcher_request (instance_id, catcher, number)`;
const catcherRequestExpires = sql`CREATE INDEX catcher_request_expires ON chancery.catcher_request (instance_id, expires)`;
const eventHidden = sql`ALTER TABLE chancery.event ADD COLUMN hidden text COLLATE "C"`;
const endpointPayload = sql`ALTER TABLE chancery.endpoint
  ADD COLUMN payload text COLLATE "C" NOT NULL DEFAULT 'full',
  ADD COLUMN fields text COLLATE "C" NOT NULL DEFAULT '[]',
  ADD COLUMN cloud_events text COLLATE "C" NOT NULL DEFAULT 'false'`;
const previousSecret = sql`ALTER TABLE chancery.endpoint
  ADD COLUMN previous_secret text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN previous_secret_until text COLLATE "C" NOT NULL DEFAULT ''`;
const eventTrace = sql`ALTER TABLE chancery.event ADD COLUMN trace text COLLATE "C"`;
const eventContext = sql`ALTER TABLE chancery.event ADD COLUMN context text COLLATE "C"`;
const eventExpunged = sql`ALTER TABLE chancery.event ADD COLUMN expunged text COLLATE "C"`;
const endpointOwner = sql`ALTER TABLE chancery.endpoint
  ADD COLUMN name text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN filter text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN contact text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN owner text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN oauth2 text COLLATE "C"`;
const apiKeyEndpoints = sql`ALTER TABLE chancery.api_key ADD COLUMN endpoints text COLLATE "C" NOT NULL DEFAULT 'null'`;
// The collection of a backfill, where the log ended when it began, and why it stopped early.
const replayBackfill = sql`ALTER TABLE chancery.replay
  ADD COLUMN collection text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN log_end bigint NOT NULL DEFAULT 0,
  ADD COLUMN cause text COLLATE "C" NOT NULL DEFAULT ''`;
// The alerts that were sent about an endpoint, so that each is sent once.
const laneAlerts = sql`ALTER TABLE chancery.lane
  ADD COLUMN alert text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN recovered_at bigint NOT NULL DEFAULT 0,
  ADD COLUMN exhausted_day text COLLATE "C" NOT NULL DEFAULT ''`;
// Up to where the log is decided for endpoints of accounts: all of them, or one that is behind the others, and why it is.
const accountDecisions = [
  sql`ALTER TABLE chancery.lane
  ADD COLUMN decided bigint,
  ADD COLUMN undecided text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN undecided_since bigint NOT NULL DEFAULT 0`,
  // What lies before was decided by the writes themselves.
  sql`INSERT INTO chancery.instance_setting (instance_id, name, value)
    SELECT instance_id, 'decided', CAST((SELECT coalesce(max(position), 0) FROM chancery.event) AS text) FROM chancery.endpoint
    WHERE owner <> '' AND deleted = '' GROUP BY instance_id`,
];

// A lane reads only its own deliveries, however many the log has of others.
const deliveryEndpoint = sql`CREATE INDEX delivery_endpoint ON chancery.delivery (instance_id, endpoint, event)`;

export const postgresMigrations: readonly Migration[] = [
  {
    name: 'instances, collections, secrets, events, endpoints, deliveries, attempts',
    statements: () => tables,
  },
  { name: 'idempotency keys', statements: () => [idempotency, idempotencyExpires], admits: 1 },
  { name: 'settings', statements: () => [instanceSetting], admits: 1 },
  { name: 'api keys', statements: () => [apiKey], admits: 1 },
  { name: 'audit log', statements: () => [audit, auditCreated, auditTallied], admits: 1 },
  { name: 'setup tokens', statements: () => [setupToken], admits: 1 },
  { name: 'logs', statements: () => [log, logCreated], admits: 1 },
  { name: 'windows of limits', statements: () => [limitWindow, limitWindowEnds], admits: 1 },
  { name: 'deliveries that are put off', statements: () => [deliveryPutOff], admits: 1 },
  {
    name: 'the oldest delivery, and those that are exhausted',
    statements: () => [deliveryOldest, deliveryExhausted],
    admits: 1,
  },
  { name: 'lanes', statements: () => [lane, deliveryWide], admits: 1 },
  postgresDeliveryLog,
  { name: 'what became of attempts, by hours', statements: () => [endpointHour], admits: 1 },
  postgresLogPartitions,
  { name: 'hidden fields in events', statements: () => [eventHidden], admits: 1 },
  { name: 'requests for realtime clients', statements: () => [realtimeRequest], admits: 1 },
  { name: 'files to be removed', statements: () => [fileRemoval, fileRemovalDue], admits: 1 },
  {
    name: 'requests to catchers',
    statements: () => [catcherRequest, catcherRequestCatcher, catcherRequestExpires],
    admits: 1,
  },
  { name: 'traces of events', statements: () => [eventTrace], admits: 1 },
  { name: 'secrets before a rotation', statements: () => [previousSecret], admits: 1 },
  { name: 'payloads of endpoints', statements: () => [endpointPayload], admits: 1 },
  { name: 'what has caused events', statements: () => [eventContext], admits: 1 },
  { name: 'names, filters and owners of endpoints', statements: () => [endpointOwner], admits: 1 },
  { name: 'api keys for some endpoints', statements: () => [apiKeyEndpoints], admits: 1 },
  { name: 'backfills', statements: () => [replayBackfill], admits: 1 },
  { name: 'events whose bodies are expunged', statements: () => [eventExpunged], admits: 1 },
  { name: 'alerts of lanes', statements: () => [laneAlerts], admits: 1 },
  storedFilters,
  { name: 'decisions for endpoints of accounts', statements: () => accountDecisions, admits: 1 },
  { name: 'deliveries by endpoint', statements: () => [deliveryEndpoint], admits: 1 },
  ...laterPostgresMigrations,
];
