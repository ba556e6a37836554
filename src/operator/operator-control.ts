import type { KeyOwner } from '../auth/key-rows.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { InstanceDirectory } from '../instances/instance-directory.ts';
import { AuditLog } from '../logs/audit-log.ts';
import type { MasterKey } from '../secrets/master-key.ts';
import { sealerFor, type Sealer } from '../secrets/seal.ts';
import type { DataHome } from '../storage/data-home.ts';
import type { NetworkPolicy } from '../network/address-guard.ts';
import type { Egress } from '../network/proxy-tunnel.ts';
import { openSender } from '../sending/sender.ts';
import { OperatorDispatcher } from './operator-dispatcher.ts';
import { OperatorEndpointStore } from './operator-endpoint-store.ts';
import { OperatorFeed } from './operator-feed.ts';
import type { OwnTransfers } from './own-transfers.ts';

/**
 * The operator, who makes instances and stands above their superusers. The map of this folder:
 *
 *   operator-control    what the operator has in the shared database: keys, an audit log, answers under idempotency keys
 *   operator-keys       the credentials of the operator's programs; their scopes
 *   managed-instances   instances as those programs see them: find, list, change, suspend, delete, restore
 *   create-instance     an instance with all that it begins with, in one call
 *   read-quotas         the quotas of an instance and what is used of each
 *   issue-key           an API key of an instance, for its programs
 *   instance-transfers  instances as wholes: copies, archives, imports, backups
 *   schema-jobs         one definition for many instances: jobs as rows; schema-request creates one, schema-runner takes it up (schema-work),
 *                       apply-schema does it in one instance, list-schema-jobs shows what came of it
 *   operator-feed       what became of instances, for programs that follow it
 *   operator-endpoint   where the same is sent as webhooks: its options, rows (-store) and changes (operator-endpoints)
 *   operator-dispatcher sends it there
 *
 * What happens inside an instance goes through `InstanceCalls`: requests to the ordinary routes, in the host that runs it.
 */
export interface OperatorControl extends KeyOwner {
  readonly home: DataHome;
  readonly directory: InstanceDirectory;
  readonly audit: AuditLog;
  readonly feed: OperatorFeed;
  readonly endpoints: OperatorEndpointStore;
  readonly dispatcher: OperatorDispatcher;
  /** Where endpoints may be. */
  readonly policy: NetworkPolicy;
  /** How requests to them leave. */
  readonly egress: Egress;
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
  | 'home'
  | 'directory'
  | 'clock'
  | 'policy'
  | 'egress'
  | 'deletedDays'
  | 'backupFolder'
  | 'backupPlace'
  | 'transfers'
> {
  readonly masterKey: MasterKey;
  /** How long the audit log is kept; 0 for ever. */
  readonly auditDays: number;
  readonly logger: Logger;
  /** The clock for times that nodes compare. */
  readonly dueClock: Clock;
}

/** What is sealed for the operator is sealed with keys of this id, which no instance has. */
export const operatorSealId = 'operator';

export function openOperatorControl({
  masterKey,
  auditDays,
  logger,
  dueClock,
  ...parts
}: OperatorParts): OperatorControl {
  const { clock, home, policy, egress } = parts;
  const database = home.control;
  const sealer = sealerFor(masterKey, operatorSealId);
  const endpoints = new OperatorEndpointStore(home.background, sealer, dueClock);
  // Its thread starts with the first request.
  const sender = openSender({ policy, egress, clock, logger });
  return {
    ...parts,
    database,
    audit: new AuditLog({ id: '', database, clock, auditDays, logger }),
    creations: new Map(),
    feed: new OperatorFeed({ database, clock }),
    endpoints,
    dispatcher: new OperatorDispatcher({ store: endpoints, sender, clock, logger }),
    sealer,
  };
}
