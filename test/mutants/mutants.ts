import { accessMutants } from './access-mutants.ts';
import { accountMutants } from './account-mutants.ts';
import { alertMutants } from './alert-mutants.ts';
import { auditMutants } from './audit-mutants.ts';
import { checkMutants } from './check-mutants.ts';
import { commandMutants } from './command-mutants.ts';
import { deliveryMutants } from './delivery-mutants.ts';
import { dueMutants } from './due-mutants.ts';
import { hostMutants } from './host-mutants.ts';
import { edgeMutants } from './edge-mutants.ts';
import { egressMutants } from './egress-mutants.ts';
import { expungeMutants } from './expunge-mutants.ts';
import { figureMutants } from './figure-mutants.ts';
import { filterMutants } from './filter-mutants.ts';
import { healthMutants } from './health-mutants.ts';
import { kitMutants } from './kit-mutants.ts';
import { limitMutants } from './limit-mutants.ts';
import { lifeMutants } from './life-mutants.ts';
import { logMutants } from './log-mutants.ts';
import { metricMutants } from './metric-mutants.ts';
import type { Mutant } from './mutant.ts';
import { mirrorMutants } from './mirror-mutants.ts';
import { nameScopeMutants } from './name-scope-mutants.ts';
import { partitionMutants } from './partition-mutants.ts';
import { operatorMutants } from './operator-mutants.ts';
import { portalLinkMutants } from './portal-link-mutants.ts';
import { portalMutants } from './portal-mutants.ts';
import { backupMutants } from './backup-mutants.ts';
import { batchMutants } from './batch-mutants.ts';
import { catcherMutants } from './catcher-mutants.ts';
import { quotaMutants } from './quota-mutants.ts';
import { realtimeMutants } from './realtime-mutants.ts';
import { recordTestMutants } from './record-test-mutants.ts';
import { requestMutants } from './request-mutants.ts';
import { retentionMutants } from './retention-mutants.ts';
import { revertMutants } from './revert-mutants.ts';
import { endpointImportMutants } from './endpoint-import-mutants.ts';
import { endpointMutants } from './endpoint-mutants.ts';
import { servedFileMutants } from './served-file-mutants.ts';
import { shippingMutants } from './shipping-mutants.ts';
import { searchMutants } from './search-mutants.ts';
import { storageMutants } from './storage-mutants.ts';
import { tableMutants } from './table-mutants.ts';
import { providerMutants } from './provider-mutants.ts';
import { tokenMutants } from './token-mutants.ts';
import { viewMutants } from './view-mutants.ts';
import { uploadMutants } from './upload-mutants.ts';
import { upgradeMutants } from './upgrade-mutants.ts';
import { whyMutants } from './why-mutants.ts';

/** All of them; new ones go to the file of their subject. */
export const mutants: readonly Mutant[] = [
  ...accessMutants,
  ...accountMutants,
  ...alertMutants,
  ...auditMutants,
  ...backupMutants,
  ...batchMutants,
  ...checkMutants,
  ...commandMutants,
  ...deliveryMutants,
  ...edgeMutants,
  ...egressMutants,
  ...expungeMutants,
  ...figureMutants,
  ...filterMutants,
  ...healthMutants,
  ...kitMutants,
  ...limitMutants,
  ...lifeMutants,
  ...logMutants,
  ...metricMutants,
  ...mirrorMutants,
  ...nameScopeMutants,
  ...partitionMutants,
  ...operatorMutants,
  ...portalMutants,
  ...portalLinkMutants,
  ...catcherMutants,
  ...endpointImportMutants,
  ...endpointMutants,
  ...quotaMutants,
  ...realtimeMutants,
  ...recordTestMutants,
  ...requestMutants,
  ...retentionMutants,
  ...revertMutants,
  ...servedFileMutants,
  ...shippingMutants,
  ...searchMutants,
  ...storageMutants,
  ...viewMutants,
  ...tableMutants,
  ...providerMutants,
  ...tokenMutants,
  ...dueMutants,
  ...hostMutants,
  ...uploadMutants,
  ...upgradeMutants,
  ...whyMutants,
];
