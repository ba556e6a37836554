import type { InternalTable } from '../storage/internal-table.ts';

/** The database of a data directory that has a table: one for the whole service, or two for each instance. */
export type Place = 'control' | 'instance' | 'logs';

/** What only a data directory needs: where instances share tables, these are searched for what is due. */
type DirectoryTable = '$due' | '$command' | '$upgrade';
/** What is counted again where an instance is opened. */
type CountTable = '$quota';
/** Sessions of portals, which end where the instance goes elsewhere. */
type SessionTable = '$portal_link';
export type MovedTable = Exclude<InternalTable, DirectoryTable | CountTable | SessionTable>;

/** The internal tables, by the database that has them. `Record` keeps one that is added later from being forgotten. */
const places: Readonly<Record<MovedTable, Place>> = {
  $instance: 'control',
  $setting: 'control',
  $transfer: 'control',
  $backup_schedule: 'control',
  $cron_run: 'control',
  $schema_job: 'control',
  $schema_result: 'control',
  $operator_event: 'control',
  $operator_endpoint: 'control',
  $usage: 'control',
  $collection: 'instance',
  $secret: 'instance',
  $event: 'instance',
  $endpoint: 'instance',
  $delivery: 'instance',
  $outcome: 'instance',
  $lane: 'instance',
  $gap: 'instance',
  $replay: 'instance',
  $held: 'instance',
  $consumer: 'instance',
  $endpoint_hour: 'instance',
  $endpoint_day: 'instance',
  $attempt: 'instance',
  $idempotency: 'instance',
  $api_key: 'instance',
  $audit: 'instance',
  $setup_token: 'instance',
  $file_removal: 'instance',
  $job: 'instance',
  $leaving: 'instance',
  $catcher_request: 'instance',
  $instance_setting: 'instance',
  $log: 'logs',
};

export function placesOf(): readonly [MovedTable, Place][] {
  // Object.entries widens the names to strings; they are those of `places`.
  return Object.entries(places) as [MovedTable, Place][];
}

/** The tables of instances that the operator has rows in as well. */
export const operatorPlaces: readonly MovedTable[] = ['$idempotency', '$api_key', '$audit'];
