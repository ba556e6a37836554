import { checkAmbientAccess } from './ambient-access.ts';
import { checkAssertMessages } from './assert-messages.ts';
import { checkAugmentations } from './augmentations.ts';
import { checkBannedSyntax } from './banned-syntax.ts';
import { checkBarrels } from './barrels.ts';
import { checkCostlyImports } from './costly-imports.ts';
import { checkDashboardImports } from './dashboard-imports.ts';
import { checkDeclaredNames } from './declared-names.ts';
import { checkEngineBranches } from './engine-branches.ts';
import { checkFolderCycles } from './folder-cycles.ts';
import { checkImportCycles } from './import-cycles.ts';
import { checkImportOrder } from './import-order.ts';
import { checkKitImports } from './kit-imports.ts';
import { checkNames } from './names.ts';
import { checkPackageOwners } from './package-owners.ts';
import { checkPlainText } from './plain-text.ts';
import { isSource, sourceFile, type TextFile } from './source-file.ts';
import { checkSharedState } from './shared-state.ts';
import { checkSmallFiles } from './small-files.ts';
import { checkTestFunctions } from './test-functions.ts';
import { checkTypeNames } from './type-names.ts';
import type { Violation } from './violation.ts';

const sourceRules = [
  checkImportOrder,
  checkPackageOwners,
  checkKitImports,
  checkDashboardImports,
  checkCostlyImports,
  checkAmbientAccess,
  checkImportCycles,
  checkFolderCycles,
  checkBarrels,
  checkNames,
  checkTypeNames,
  checkDeclaredNames,
  checkAugmentations,
  checkBannedSyntax,
  checkEngineBranches,
  checkSharedState,
  checkSmallFiles,
  checkTestFunctions,
  checkAssertMessages,
];

/** Returns all violations in a tree, in the order of its files. */
export function checkTree(files: readonly TextFile[]): readonly Violation[] {
  const sources = files.filter((file) => isSource(file.path)).map(sourceFile);
  const violations = [...sourceRules.flatMap((rule) => rule(sources)), ...checkPlainText(files)];
  return violations.toSorted((a, b) => a.path.localeCompare(b.path, 'en') || a.line - b.line);
}
