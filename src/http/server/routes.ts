import type { InstanceRoute, Route } from '../route.ts';
import { accountRoutes } from '../routes/accounts.ts';
import { auditRoutes } from '../routes/audit.ts';
import { authRoutes } from '../routes/auth.ts';
import { backupRoutes } from '../routes/backups.ts';
import { batchRoutes } from '../routes/batch.ts';
import { catcherRoutes } from '../routes/catchers.ts';
import { collectionRoutes } from '../routes/collections.ts';
import { cronRoutes } from '../routes/crons.ts';
import { deliveryRoutes } from '../routes/deliveries.ts';
import { descriptionRoute } from '../openapi/description-route.ts';
import { endpointImportRoutes } from '../routes/endpoint-import.ts';
import { endpointStatsRoutes } from '../routes/endpoint-stats.ts';
import { endpointRoutes } from '../routes/endpoints.ts';
import { eventRoutes } from '../routes/events.ts';
import { feedRoutes } from '../routes/feed.ts';
import { fileRoutes } from '../routes/files.ts';
import { healthRoutes } from '../routes/health.ts';
import { jobRoutes } from '../routes/jobs.ts';
import { keyRoutes } from '../routes/keys.ts';
import { logRoutes } from '../routes/logs.ts';
import { mailRoutes } from '../routes/mail.ts';
import { metricsRoutes } from '../routes/metrics.ts';
import { oauth2Routes } from '../routes/oauth2.ts';
import { realtimeRoutes } from '../routes/realtime.ts';
import { recordHistoryRoutes } from '../routes/record-history.ts';
import { operatorBackupRoutes } from '../routes/operator/backups.ts';
import { operatorSchemaRoutes } from '../routes/operator/schema.ts';
import { operatorEndpointRoutes } from '../routes/operator/endpoints.ts';
import { operatorUsageRoutes } from '../routes/operator/usage.ts';
import { operatorTransferRoutes } from '../routes/operator/transfers.ts';
import { portalLinkRoutes } from '../routes/portal-links.ts';
import { recordRoutes } from '../routes/records.ts';
import { replayRoutes } from '../routes/replays.ts';
import { operatorFeedRoutes } from '../routes/operator/feed.ts';
import { operatorInstanceRoutes } from '../routes/operator/instances.ts';
import { ruleRoutes } from '../routes/rules.ts';
import { searchRoutes } from '../routes/search.ts';
import { signingKeyRoutes } from '../routes/signing-keys.ts';
import { settingsRoutes } from '../routes/settings.ts';

/** Every route of the service, in the order in which they are described to clients. */
export const routes: readonly Route[] = [
  ...recordRoutes,
  ...recordHistoryRoutes,
  ...searchRoutes,
  ...batchRoutes,
  ...jobRoutes,
  ...fileRoutes,
  ...collectionRoutes,
  ...realtimeRoutes,
  ...authRoutes,
  ...oauth2Routes,
  ...accountRoutes,
  ...endpointRoutes,
  ...endpointImportRoutes,
  ...endpointStatsRoutes,
  ...signingKeyRoutes,
  ...deliveryRoutes,
  ...replayRoutes,
  ...eventRoutes,
  ...feedRoutes,
  ...catcherRoutes,
  ...portalLinkRoutes,
  ...keyRoutes,
  ...auditRoutes,
  ...settingsRoutes,
  ...backupRoutes,
  ...cronRoutes,
  ...logRoutes,
  ...metricsRoutes,
  ...ruleRoutes,
  ...mailRoutes,
  ...healthRoutes,
  ...operatorInstanceRoutes,
  ...operatorTransferRoutes,
  ...operatorUsageRoutes,
  ...operatorBackupRoutes,
  ...operatorSchemaRoutes,
  ...operatorFeedRoutes,
  ...operatorEndpointRoutes,
  descriptionRoute(() => routes),
];

/** The routes of instances, by the ids of their operations. */
export const instanceRoutes: ReadonlyMap<string, InstanceRoute> = new Map(
  routes.filter((route) => route.kind === 'instance').map((route) => [route.id, route]),
);
