import { identifier, joinSql, literal, sql, type Sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';
import { deliveryEvent, eventRecord, outcomeIndexes } from './postgres-delivery-log.ts';

interface LogTable {
  readonly name: string;
  /** The column by which it is partitioned. */
  readonly position: string;
  readonly key: readonly string[];
  /** The statements that make its indexes, by their names. */
  readonly indexes: Readonly<Record<string, Sql>>;
}

const tables: readonly LogTable[] = [
  {
    name: 'event',
    position: 'position',
    key: ['instance_id', 'position'],
    indexes: { event_record: eventRecord },
  },
  {
    name: 'delivery',
    position: 'event',
    key: ['instance_id', 'event', 'endpoint'],
    indexes: { delivery_event: deliveryEvent },
  },
  { name: 'outcome', position: 'event', key: ['instance_id', 'event', 'endpoint'], indexes: outcomeIndexes },
  { name: 'attempt', position: 'event', key: ['instance_id', 'event', 'endpoint', 'number'], indexes: {} },
];

/** The positions of a partition. */
const size = 1_000_000;

// Positions come from a sequence: a partitioned table may have an identity column only since PostgreSQL 17. It keeps its name.
const sequence = [
  sql`CREATE SEQUENCE chancery.event_position AS bigint`,
  sql`SELECT setval('chancery.event_position', last_value, is_called) FROM chancery.event_position_seq`,
  sql`ALTER TABLE chancery.event ALTER COLUMN position DROP IDENTITY`,
  sql`ALTER SEQUENCE chancery.event_position RENAME TO event_position_seq`,
];

/** The first position behind one of the partitions that are made here, from 1. */
function endOf(number: number): Sql {
  return sql`coalesce(pg_sequence_last_value('chancery.event_position_seq'), 0) + 1 + ${literal(number * size)}`;
}

/** The existing table becomes the first partition: its rows are read once, to check that they belong there. */
function partition({ name, position, key, indexes }: LogTable): readonly Sql[] {
  const table = sql`chancery.${identifier(name)}`;
  const numbered = (of: string, number: number): Sql => identifier(`${of}_${number}`);
  const first = sql`chancery.${numbered(name, 1)}`;
  const partitionOf = (number: number): Sql =>
    sql`CREATE TABLE chancery.${numbered(name, number)} PARTITION OF ${table} FOR VALUES FROM (${endOf(number - 1)}) TO (${endOf(number)})`;
  return [
    sql`ALTER TABLE ${table} RENAME TO ${numbered(name, 1)}`,
    sql`ALTER TABLE ${first} RENAME CONSTRAINT ${identifier(`${name}_pkey`)} TO ${identifier(`${name}_1_pkey`)}`,
    ...Object.keys(indexes).map(
      (index) => sql`ALTER INDEX chancery.${identifier(index)} RENAME TO ${numbered(index, 1)}`,
    ),
    sql`CREATE TABLE ${table} (LIKE ${first}, PRIMARY KEY (${joinSql(key.map(identifier), ', ')}))
      PARTITION BY RANGE (${identifier(position)})`,
    // Before the table becomes a partition: then its own indexes are taken, and none is built.
    ...Object.values(indexes),
    sql`ALTER TABLE ${table} ATTACH PARTITION ${first} FOR VALUES FROM (MINVALUE) TO (${endOf(1)})`,
    partitionOf(2),
    partitionOf(3),
  ];
}

/** Partitions the tables of the log by position, all at the same bounds, so that old rows are dropped with their partition (decision 25). */
export const postgresLogPartitions: Migration = {
  name: 'partitions of the log',
  statements: () => [
    ...sequence,
    ...tables.flatMap(partition),
    sql`ALTER TABLE chancery.event ALTER COLUMN position SET DEFAULT nextval('chancery.event_position_seq')`,
    sql`ALTER SEQUENCE chancery.event_position_seq OWNED BY chancery.event.position`,
  ],
};
