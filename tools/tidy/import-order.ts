import { isProduct, resolveImport, type SourceFile } from './source-file.ts';
import type { Violation } from './violation.ts';

/**
 * The order is the law: a part may import the parts that stand before it, and itself. A part is a folder of src/ or
 * a file that lies directly in it. Types count, as knowing a type is knowing the part.
 */
const importOrder: readonly string[] =
  `base network providers sql fields filters storage access collections query definitions events secrets settings logs limits mail files sending
   endpoints deliveries dispatch instances records auth realtime transfer backups crons operator mcp http config open-instance start-due-work open-data-directory jobs hosts open-operator app start cli main`.split(
    /\s+/,
  );

const webhookParts = ['sending', 'endpoints', 'deliveries', 'dispatch'];
const readersApart = 'the readers of the event log do not know each other';

/** Further refusals beside the order: no file in `from` may import a path that begins with one of `to`. */
const strangers: readonly { readonly from: string; readonly to: readonly string[]; readonly why: string }[] =
  [
    { from: 'fields', to: ['storage/', 'filters/'], why: 'fields know neither storage nor filters' },
    { from: 'filters', to: ['storage/', 'fields/'], why: 'filters know neither storage nor fields' },
    { from: 'storage/sqlite', to: ['storage/postgres/'], why: 'the engines do not know each other' },
    { from: 'storage/postgres', to: ['storage/sqlite/'], why: 'the engines do not know each other' },
    ...['collections', 'query', 'definitions', 'records', 'auth', 'http'].map((from) => ({
      from,
      to: ['storage/sqlite/', 'storage/postgres/'],
      why: 'what engines have in common is in storage/ itself',
    })),
    ...webhookParts.map((from) => ({ from, to: ['realtime/'], why: readersApart })),
    { from: 'realtime', to: webhookParts.map((part) => `${part}/`), why: readersApart },
  ];

/** Checks the product only: tests beside their source may use any part to set up. */
export function checkImportOrder(files: readonly SourceFile[]): readonly Violation[] {
  const product = files.filter((file) => isProduct(file.path));
  return [...unknownParts(product), ...product.flatMap(checkFile)];
}

function unknownParts(files: readonly SourceFile[]): readonly Violation[] {
  return files
    .filter((file) => !importOrder.includes(partOf(file.path)))
    .map((file) => {
      const message = `"${partOf(file.path)}" has no place in the order of parts (tools/tidy/import-order.ts)`;
      return { path: file.path, line: 1, rule: 'import-order', message };
    });
}

function checkFile(file: SourceFile): readonly Violation[] {
  return file.imports.flatMap(({ line, specifier }) => {
    const message = specifier === undefined ? 'import() takes a plain string' : refusal(file.path, specifier);
    return message === undefined ? [] : [{ path: file.path, line, rule: 'import-order', message }];
  });
}

function refusal(path: string, specifier: string): string | undefined {
  const target = resolveImport(path, specifier);
  if (target === undefined) return undefined;
  if (!isProduct(target)) return `the product may not import ${target}`;
  const part = partOf(path);
  const other = partOf(target);
  if (importOrder.indexOf(other) > importOrder.indexOf(part)) return `${part} stands before ${other}`;
  const inside = target.slice('src/'.length);
  return strangers.find(
    ({ from, to }) => path.startsWith(`src/${from}/`) && to.some((start) => inside.startsWith(start)),
  )?.why;
}

function partOf(path: string): string {
  return (path.split('/')[1] ?? '').replace(/\.ts$/, '');
}
