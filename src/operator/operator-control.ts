import type { KeyOwner } from '../auth/key-rows.ts';
import type { Logger } from '../base/logger.ts';
import type { InstanceDirectory } from '../instances/instance-directory.ts';
import { AuditLog } from '../logs/audit-log.ts';
import type { MasterKey } from '../secrets/master-key.ts';
import { sealerFor, type Sealer } from '../secrets/seal.ts';
import type { DataHome } from '../storage/data-home.ts';
import { OperatorFeed } from './operator-feed.ts';
import type { OwnTransfers } from './own-transfers.ts';

/**
 * The operator, who makes instances and stands above their superusers. The map of this folder:
 *
 *   operator-control    what the operator has in the shared database: keys, an audit log, answers under idempotency keys
 *   operator-keys       the credentials of the operator's programs; their scopes
 *   managed-instances   instances as those programs see them: find, list, change, suspend, delete, restore
 *   create-instance     an instance with all that it begins with, in one call
 *   issue-key           an API key of an instance, for its programs
 *   instance-transfers  instances as wholes: copies, archives, imports, backups
 *   schema-jobs         one definition for many instances: jobs as rows; schema-request creates one, schema-runner takes it up (schema-work),
 *                       apply-schema does it in one instance, list-schema-jobs shows what came of it
 *   operator-feed       what became of instances, for programs that follow it
 *
 * What happens inside an instance goes through `InstanceCalls`: requests to the ordinary routes, in the host that runs it.
 */
export interface OperatorControl extends KeyOwner {
  readonly home: DataHome;
  readonly directory: InstanceDirectory;
  readonly audit: AuditLog;
  readonly feed: OperatorFeed;
  /** Seals and fingerprints what belongs to no instance. */
  readonly sealer: Sealer;
  /** Where archives are written that somebody downloads. */
  readonly backupFolder: string;
  /** Where the schedule of the operator keeps backups; empty where there is none. */
  readonly backupPlace: string;
  /** Undefined in a command, which serves no routes. */
  readonly transfers?: OwnTransfers | undefined;
  /** How long a deleted instance can be restored. */
  readonly deletedDays: number;
  /** The instances that this process is making, by slug: of those that ask for one slug, one makes it at a time. */
  readonly creations: Map<string, Promise<void>>;
}

export interface OperatorParts extends Pick<
  OperatorControl,
  'home' | 'directory' | 'clock' | 'deletedDays' | 'backupFolder' | 'backupPlace' | 'transfers'
> {
  readonly masterKey: MasterKey;
  /** How long the audit log is kept; 0 for ever. */
  readonly auditDays: number;
  readonly logger: Logger;
}

/** No instance has this id. */
const sealedFor = 'operator';

export function openOperatorControl({
  masterKey,
  auditDays,
  logger,
  ...parts
}: OperatorParts): OperatorControl {
  const { clock, home } = parts;
  const database = home.control;
  return {
    ...parts,
    database,
    audit: new AuditLog({ id: '', database, clock, auditDays, logger }),
    creations: new Map(),
    feed: new OperatorFeed({ database, clock }),
    sealer: sealerFor(masterKey, sealedFor),
  };
}
