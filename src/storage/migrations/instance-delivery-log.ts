import { sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';

// A deleted endpoint stays while the log names it. Its `position` is what the log knows it by.
const endpointDeleted = sql`ALTER TABLE "$endpoint" ADD COLUMN deleted TEXT NOT NULL DEFAULT ''`;
const endpointOptions = [
  sql`ALTER TABLE "$endpoint" ADD COLUMN "order" TEXT NOT NULL DEFAULT 'none'`,
  sql`ALTER TABLE "$endpoint" ADD COLUMN "coalesce" TEXT NOT NULL DEFAULT 'false'`,
  sql`ALTER TABLE "$endpoint" ADD COLUMN on_exhausted TEXT NOT NULL DEFAULT 'skip'`,
  sql`ALTER TABLE "$endpoint" ADD COLUMN max_age_seconds TEXT`,
  sql`ALTER TABLE "$endpoint" ADD COLUMN rate_limit INTEGER NOT NULL DEFAULT 0`,
];
const deletedEndpoints = sql`INSERT INTO "$endpoint"
    (id, url, description, events, collections, headers, max_in_flight, timeout_ms, status, status_reason, secret, created, updated, deleted)
  SELECT endpoint, '', '', '[]', '[]', '', 1, 1000, 'paused', '', '', min(created), max(updated), max(updated)
  FROM "$delivery" WHERE endpoint NOT IN (SELECT id FROM "$endpoint") GROUP BY endpoint`;

const beforeLog = [
  sql`ALTER TABLE "$delivery" RENAME TO "$delivery_before"`,
  sql`ALTER TABLE "$attempt" RENAME TO "$attempt_before"`,
  sql`ALTER TABLE "$lane" RENAME TO "$lane_before"`,
];

// The delivery of an event to an endpoint. Never changed: its result is an outcome, or it waits.
const narrowDelivery = sql`CREATE TABLE "$delivery" (
  event INTEGER NOT NULL,
  endpoint INTEGER NOT NULL,
  PRIMARY KEY (event, endpoint)
) STRICT, WITHOUT ROWID`;

// What became of a delivery that was attempted or changed by hand. Of one that was delivered `due` is NULL, as it is of one that waits
// for an earlier event of its record.
const outcome = sql`CREATE TABLE "$outcome" (
  event INTEGER NOT NULL,
  endpoint INTEGER NOT NULL,
  status TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  due INTEGER,
  is_wide INTEGER NOT NULL,
  record TEXT,
  replay INTEGER,
  put_off_until INTEGER,
  cause TEXT NOT NULL,
  updated TEXT NOT NULL,
  PRIMARY KEY (event, endpoint)
) STRICT, WITHOUT ROWID`;
// None of them has an entry for a delivery that succeeds at once.
const outcomeDue = sql`CREATE INDEX "$outcome_due" ON "$outcome" (endpoint, due, event) WHERE status = 'pending' AND due IS NOT NULL`;
// Finds what waits behind earlier events of its record.
const outcomeWaiting = sql`CREATE INDEX "$outcome_waiting" ON "$outcome" (endpoint, record, event) WHERE status = 'pending'`;
const outcomeFailed = sql`CREATE INDEX "$outcome_failed" ON "$outcome" (status, event) WHERE status <> 'delivered'`;
const outcomeExhausted = sql`CREATE INDEX "$outcome_exhausted" ON "$outcome" (updated) WHERE status = 'exhausted'`;

const attemptOfLog = sql`CREATE TABLE "$attempt" (
  event INTEGER NOT NULL,
  endpoint INTEGER NOT NULL,
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
  PRIMARY KEY (event, endpoint, number)
) STRICT, WITHOUT ROWID`;

// A delivery up to the cursor has an outcome or lies in a gap: the lane reads the log from there.
const laneOfLog = sql`CREATE TABLE "$lane" (
  endpoint INTEGER PRIMARY KEY,
  cursor INTEGER NOT NULL,
  state TEXT NOT NULL,
  since INTEGER NOT NULL,
  probe_at INTEGER NOT NULL,
  probe_delay INTEGER NOT NULL,
  held_until INTEGER NOT NULL,
  cause TEXT NOT NULL
) STRICT`;

// A range of the log that a lane has passed over: deliveries in it without an outcome have its status.
const gap = sql`CREATE TABLE "$gap" (
  endpoint INTEGER NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  status TEXT NOT NULL,
  cause TEXT NOT NULL,
  created TEXT NOT NULL,
  PRIMARY KEY (endpoint, first)
) STRICT, WITHOUT ROWID`;

// A replay is a job: its cursor goes over the log, and its deliveries are marked with its number.
const replay = sql`CREATE TABLE "$replay" (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  endpoint INTEGER NOT NULL,
  scope TEXT NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  is_descending INTEGER NOT NULL,
  rate INTEGER NOT NULL,
  filter TEXT NOT NULL,
  cursor INTEGER NOT NULL,
  total INTEGER NOT NULL,
  taken INTEGER NOT NULL,
  state TEXT NOT NULL,
  created TEXT NOT NULL,
  updated TEXT NOT NULL
) STRICT`;
const outcomeReplay = sql`CREATE INDEX "$outcome_replay" ON "$outcome" (replay, status) WHERE replay IS NOT NULL`;

// A reader of the feed whose place is kept here.
const consumer = sql`CREATE TABLE "$consumer" (
  name TEXT PRIMARY KEY,
  position INTEGER NOT NULL,
  created TEXT NOT NULL,
  updated TEXT NOT NULL
) STRICT, WITHOUT ROWID`;

const eventRecord = sql`CREATE INDEX "$event_record" ON "$event" (record)`;

const copyLog = [
  sql`INSERT INTO "$delivery" (event, endpoint)
    SELECT d.event, p.position FROM "$delivery_before" d JOIN "$endpoint" p ON p.id = d.endpoint`,
  sql`INSERT INTO "$outcome" (event, endpoint, status, attempts, due, is_wide, record, put_off_until, cause, updated)
    SELECT d.event, p.position, d.status, d.attempts, CASE WHEN d.status = 'pending' THEN d.due END, d.is_wide,
      CASE WHEN d.status = 'pending' THEN e.collection || '/' || e.record END, d.put_off_until, d.cause, d.updated
    FROM "$delivery_before" d JOIN "$endpoint" p ON p.id = d.endpoint JOIN "$event" e ON e.position = d.event`,
  sql`INSERT INTO "$attempt"
    SELECT d.event, p.position, a.number, a.started, a.kind, a.status, a.cause, a.dns_ms, a.connect_ms, a.tls_ms, a.first_byte_ms, a.total_ms,
      a.response_headers, a.response_body
    FROM "$attempt_before" a JOIN "$delivery_before" d ON d.id = a.delivery JOIN "$endpoint" p ON p.id = d.endpoint`,
  sql`INSERT INTO "$lane"
    SELECT p.position, coalesce((SELECT max(position) FROM "$event"), 0), coalesce(l.state, 'closed'), coalesce(l.since, 0),
      coalesce(l.probe_at, 0), coalesce(l.probe_delay, 0), coalesce(l.held_until, 0), coalesce(l.cause, '')
    FROM "$endpoint" p LEFT JOIN "$lane_before" l ON l.endpoint = p.id WHERE p.deleted = ''`,
  sql`DROP TABLE "$attempt_before"`,
  sql`DROP TABLE "$delivery_before"`,
  sql`DROP TABLE "$lane_before"`,
];

/**
 * The tables of deliveries as a log: a delivery is one narrow row, which the record's transaction writes and nothing
 * changes; its outcome is another. Existing deliveries are carried over.
 */
export const instanceDeliveryLog: Migration = {
  name: 'a log of deliveries, and what became of them',
  statements: () => [
    endpointDeleted,
    ...endpointOptions,
    deletedEndpoints,
    ...beforeLog,
    narrowDelivery,
    outcome,
    attemptOfLog,
    laneOfLog,
    gap,
    replay,
    consumer,
    ...copyLog,
    outcomeDue,
    outcomeWaiting,
    outcomeReplay,
    outcomeFailed,
    outcomeExhausted,
    eventRecord,
  ],
};
