import type { Migration } from '../migrate.ts';
import { backupJobs } from './backup-jobs.ts';
import { batches } from './batches.ts';
import { cronRuns } from './cron-runs.ts';
import { endpointCertificates } from './endpoint-certificates.ts';
import { endpointDays } from './endpoint-days.ts';
import { instanceLife } from './instance-life.ts';
import { instanceQuotas } from './instance-quotas.ts';
import { mirrors } from './mirrors.ts';
import { nodeSteps } from './node-steps.ts';
import { portalLinks } from './portal-links.ts';
import { quotaRooms } from './quota-rooms.ts';
import { operatorEndpoints } from './operator-endpoints.ts';
import { operatorTables } from './operator-tables.ts';
import { removalJobs } from './removal-jobs.ts';
import { schemaJobs } from './schema-jobs.ts';
import { usageSizes } from './usage-sizes.ts';
import { usageTable } from './usage-table.ts';
import { verifiedEndpoints } from './verified-endpoints.ts';

/** The last steps of the schema `chancery`; a new one goes to the end. */
export const laterPostgresMigrations: readonly Migration[] = [
  removalJobs,
  nodeSteps,
  instanceLife,
  instanceQuotas,
  quotaRooms,
  backupJobs,
  operatorTables,
  usageTable,
  schemaJobs,
  operatorEndpoints,
  usageSizes,
  cronRuns,
  endpointCertificates,
  mirrors,
  portalLinks,
  endpointDays,
  verifiedEndpoints,
  batches,
];
