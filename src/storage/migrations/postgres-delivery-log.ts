import { sql, type Sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';

// A deleted endpoint stays while the log names it. Its `position` is what the log knows it by.
const endpointDeleted = [
  sql`ALTER TABLE chancery.endpoint ADD COLUMN deleted text COLLATE "C" NOT NULL DEFAULT ''`,
  sql`ALTER TABLE chancery.endpoint ADD COLUMN "order" text COLLATE "C" NOT NULL DEFAULT 'none'`,
  sql`ALTER TABLE chancery.endpoint ADD COLUMN "coalesce" text COLLATE "C" NOT NULL DEFAULT 'false'`,
  sql`ALTER TABLE chancery.endpoint ADD COLUMN on_exhausted text COLLATE "C" NOT NULL DEFAULT 'skip'`,
  sql`ALTER TABLE chancery.endpoint ADD COLUMN max_age_seconds text COLLATE "C"`,
  sql`ALTER TABLE chancery.endpoint ADD COLUMN rate_limit integer NOT NULL DEFAULT 0`,
  sql`CREATE UNIQUE INDEX endpoint_position ON chancery.endpoint (instance_id, position)`,
  sql`INSERT INTO chancery.endpoint
      (instance_id, id, url, description, events, collections, headers, max_in_flight, timeout_ms, status, status_reason, secret,
       created, updated, deleted)
    SELECT d.instance_id, d.endpoint, '', '', '[]', '[]', '', 1, 1000, 'paused', '', '', min(d.created), max(d.updated), max(d.updated)
    FROM chancery.delivery d
    WHERE NOT EXISTS (SELECT 1 FROM chancery.endpoint p WHERE p.instance_id = d.instance_id AND p.id = d.endpoint)
    GROUP BY d.instance_id, d.endpoint`,
];

const beforeLog = [
  sql`ALTER TABLE chancery.delivery RENAME TO delivery_before`,
  sql`ALTER TABLE chancery.delivery_before RENAME CONSTRAINT delivery_pkey TO delivery_before_pkey`,
  sql`ALTER TABLE chancery.attempt RENAME TO attempt_before`,
  sql`ALTER TABLE chancery.attempt_before RENAME CONSTRAINT attempt_pkey TO attempt_before_pkey`,
  sql`ALTER TABLE chancery.lane RENAME TO lane_before`,
  sql`ALTER TABLE chancery.lane_before RENAME CONSTRAINT lane_pkey TO lane_before_pkey`,
];

// The delivery of an event to an endpoint. Never changed: its result is an outcome, or it waits.
const narrowDelivery = sql`CREATE TABLE chancery.delivery (
  instance_id text COLLATE "C" NOT NULL,
  event bigint NOT NULL,
  endpoint bigint NOT NULL,
  PRIMARY KEY (instance_id, event, endpoint)
)`;
// Finds the instances with new deliveries when the hint of another node was lost.
export const deliveryEvent = sql`CREATE INDEX delivery_event ON chancery.delivery USING brin (event)
  WITH (pages_per_range = 16, autosummarize = on)`;

// What became of a delivery that was attempted or changed by hand. Of one that was delivered `due` is NULL, as it is of one that waits
// for an earlier event of its record.
const outcome = sql`CREATE TABLE chancery.outcome (
  instance_id text COLLATE "C" NOT NULL,
  event bigint NOT NULL,
  endpoint bigint NOT NULL,
  due bigint,
  replay bigint,
  put_off_until bigint,
  attempts integer NOT NULL,
  is_wide smallint NOT NULL,
  status text COLLATE "C" NOT NULL,
  record text COLLATE "C",
  cause text COLLATE "C" NOT NULL,
  updated text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance_id, event, endpoint)
)`;
// None of them has an entry for a delivery that succeeds at once.
const outcomeDue = sql`CREATE INDEX outcome_due ON chancery.outcome (instance_id, endpoint, due, event)
  WHERE status = 'pending' AND due IS NOT NULL`;
// Finds what waits behind earlier events of its record.
const outcomeWaiting = sql`CREATE INDEX outcome_waiting ON chancery.outcome (instance_id, endpoint, record, event)
  WHERE status = 'pending'`;
const outcomeInstance = sql`CREATE INDEX outcome_instance ON chancery.outcome (instance_id, due)
  WHERE status = 'pending' AND due IS NOT NULL`;
const outcomeFailed = sql`CREATE INDEX outcome_failed ON chancery.outcome (instance_id, status, event)
  WHERE status <> 'delivered'`;
const outcomeExhausted = sql`CREATE INDEX outcome_exhausted ON chancery.outcome (instance_id, updated)
  WHERE status = 'exhausted'`;

const attemptOfLog = sql`CREATE TABLE chancery.attempt (
  instance_id text COLLATE "C" NOT NULL,
  event bigint NOT NULL,
  endpoint bigint NOT NULL,
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
  PRIMARY KEY (instance_id, event, endpoint, number)
)`;

// A delivery up to the cursor has an outcome or lies in a gap: the lane reads the log from there.
const laneOfLog = sql`CREATE TABLE chancery.lane (
  instance_id text COLLATE "C" NOT NULL,
  endpoint bigint NOT NULL,
  cursor bigint NOT NULL,
  state text COLLATE "C" NOT NULL,
  since bigint NOT NULL,
  probe_at bigint NOT NULL,
  probe_delay bigint NOT NULL,
  held_until bigint NOT NULL,
  cause text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance_id, endpoint)
) WITH (fillfactor = 50)`;

// A range of the log that a lane has passed over: deliveries in it without an outcome have its status.
const gap = sql`CREATE TABLE chancery.gap (
  instance_id text COLLATE "C" NOT NULL,
  endpoint bigint NOT NULL,
  first bigint NOT NULL,
  last bigint NOT NULL,
  status text COLLATE "C" NOT NULL,
  cause text COLLATE "C" NOT NULL,
  created text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance_id, endpoint, first)
)`;

// A replay is a job: its cursor goes over the log, and its deliveries are marked with its number.
const replay = sql`CREATE TABLE chancery.replay (
  instance_id text COLLATE "C" NOT NULL,
  number bigint GENERATED ALWAYS AS IDENTITY,
  id text COLLATE "C" NOT NULL,
  endpoint bigint NOT NULL,
  scope text COLLATE "C" NOT NULL,
  first bigint NOT NULL,
  last bigint NOT NULL,
  is_descending smallint NOT NULL,
  rate integer NOT NULL,
  filter text COLLATE "C" NOT NULL,
  cursor bigint NOT NULL,
  total bigint NOT NULL,
  taken bigint NOT NULL,
  state text COLLATE "C" NOT NULL,
  created text COLLATE "C" NOT NULL,
  updated text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance_id, id)
)`;
const outcomeReplay = sql`CREATE INDEX outcome_replay ON chancery.outcome (instance_id, replay, status) WHERE replay IS NOT NULL`;

/** By their names, in the order in which they are made. */
export const outcomeIndexes: Readonly<Record<string, Sql>> = {
  outcome_due: outcomeDue,
  outcome_waiting: outcomeWaiting,
  outcome_replay: outcomeReplay,
  outcome_instance: outcomeInstance,
  outcome_failed: outcomeFailed,
  outcome_exhausted: outcomeExhausted,
};

// A reader of the feed whose place is kept here.
const consumer = sql`CREATE TABLE chancery.consumer (
  instance_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  position bigint NOT NULL,
  created text COLLATE "C" NOT NULL,
  updated text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance_id, name)
) WITH (fillfactor = 50)`;

export const eventRecord = sql`CREATE INDEX event_record ON chancery.event (instance_id, record, position)`;
// A reader that remembers where it was reads only up to a position behind which none can appear any more.
const eventTransaction = sql`ALTER TABLE chancery.event DROP COLUMN transaction`;

const ofEndpoint = sql`chancery.endpoint p ON p.instance_id = d.instance_id AND p.id = d.endpoint`;

const copyLog = [
  sql`INSERT INTO chancery.delivery (instance_id, event, endpoint)
    SELECT d.instance_id, d.event, p.position FROM chancery.delivery_before d JOIN ${ofEndpoint}`,
  sql`INSERT INTO chancery.outcome (instance_id, event, endpoint, status, attempts, due, is_wide, record, put_off_until, cause, updated)
    SELECT d.instance_id, d.event, p.position, d.status, d.attempts, CASE WHEN d.status = 'pending' THEN d.due END, d.is_wide,
      CASE WHEN d.status = 'pending' THEN e.collection || '/' || e.record END, d.put_off_until, d.cause, d.updated
    FROM chancery.delivery_before d JOIN ${ofEndpoint}
    JOIN chancery.event e ON e.instance_id = d.instance_id AND e.position = d.event`,
  sql`INSERT INTO chancery.attempt
    SELECT d.instance_id, d.event, p.position, a.number, a.started, a.kind, a.status, a.cause, a.dns_ms, a.connect_ms, a.tls_ms,
      a.first_byte_ms, a.total_ms, a.response_headers, a.response_body
    FROM chancery.attempt_before a JOIN chancery.delivery_before d ON d.instance_id = a.instance_id AND d.id = a.delivery JOIN ${ofEndpoint}`,
  sql`INSERT INTO chancery.lane
    SELECT p.instance_id, p.position,
      coalesce((SELECT max(e.position) FROM chancery.event e WHERE e.instance_id = p.instance_id), 0),
      coalesce(l.state, 'closed'), coalesce(l.since, 0), coalesce(l.probe_at, 0), coalesce(l.probe_delay, 0), coalesce(l.held_until, 0),
      coalesce(l.cause, '')
    FROM chancery.endpoint p LEFT JOIN chancery.lane_before l ON l.instance_id = p.instance_id AND l.endpoint = p.id
    WHERE p.deleted = ''`,
  sql`DROP TABLE chancery.attempt_before`,
  sql`DROP TABLE chancery.delivery_before`,
  sql`DROP TABLE chancery.lane_before`,
];

/**
 * The tables of deliveries as a log: a delivery is one narrow row, which the record's transaction writes and nothing
 * changes; its outcome is another. Existing deliveries are carried over.
 */
export const postgresDeliveryLog: Migration = {
  name: 'a log of deliveries, and what became of them',
  statements: () => [
    ...endpointDeleted,
    ...beforeLog,
    narrowDelivery,
    outcome,
    attemptOfLog,
    laneOfLog,
    gap,
    replay,
    consumer,
    ...copyLog,
    deliveryEvent,
    ...Object.values(outcomeIndexes),
    eventRecord,
    eventTransaction,
  ],
};
