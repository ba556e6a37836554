import type { Caller } from '../access/caller.ts';
import { admit, isLocked } from '../access/rule.ts';
import { isJsonObject, type JsonObject, ownMember } from '../base/json.ts';
import { type FileOptions, fileBytesMax } from '../fields/file-field.ts';
import { type Field, mayWriteField } from '../fields/field.ts';
import { recordTable } from '../records/record-table.ts';
import { writtenCollection } from '../records/record-write.ts';
import type { Settings } from '../settings/settings.ts';
import { httpLimits } from './connections.ts';
import type { FormPlan, SentFile } from './receive-form.ts';
import type { FormContext } from './route.ts';

/**
 * What is taken of a form that creates or updates a record: the files of its collection's fields that the caller may write. Throws
 * not_found for an unknown collection, and forbidden where the rule is null: before anything of the form is read.
 */
export async function recordForm(
  { instance, caller, params }: FormContext<{ readonly collection: string }>,
  rule: 'createRule' | 'updateRule',
): Promise<FormPlan> {
  const collection = await writtenCollection(instance, params.collection, (current) =>
    isLocked(current, [rule], caller),
  );
  admit(collection, rule, caller);
  const fields = writableFiles(recordTable(collection).files, caller);
  const files = fields.map(({ options }) => {
    // Made by the type of the field.
    const own = options as FileOptions;
    return fileBytesMax(own) * Math.max(1, own.maxSelect);
  });
  return {
    bytesMax: files.reduce((sum, bytes) => sum + bytes, httpLimits.bodyBytesMax),
    fileBytesMax: (name) => {
      const field = fields.find((each) => [each.name, `${each.name}+`, `+${each.name}`].includes(name));
      // As above.
      return field && fileBytesMax(field.options as FileOptions);
    },
    withFiles,
  };
}

function writableFiles(places: readonly { readonly field: Field }[], caller: Caller): readonly Field[] {
  const isSuperuser = caller.kind === 'superuser';
  return places.map(({ field }) => field).filter((field) => mayWriteField(field, isSuperuser));
}

/** Returns the members with files behind what else was sent under their names. */
function withFiles(members: JsonObject, files: readonly SentFile[]): JsonObject {
  const byName = Map.groupBy(files, ([name]) => name);
  const changed = [...byName].map(([name, sent]) => {
    const before = ownMember(members, name);
    const items = before === undefined ? [] : [before].flat();
    return [name, [...items, ...sent.map(([, file]) => file)]] as const;
  });
  return Object.fromEntries([...Object.entries(members), ...changed]);
}

/** `requests.0.photo` and `requests[0].photo`. */
const itemName = /^requests(?:\.(\d{1,5})|\[(\d{1,5})\])\.(.+)$/s;

/**
 * What is taken of a form that is a batch. The requests come with it, often behind the files, so each file may be as large as all of
 * the form; whether its field is one of files, and how large it may be, is known when all is there.
 */
export function batchForm({ maxBodySize, maxRequests }: Settings['batch']): FormPlan {
  const bytesMax = maxBodySize > 0 ? maxBodySize : httpLimits.batchFormBytesMax;
  return {
    bytesMax,
    fileBytesMax: (name) => {
      const place = placeInBatch(name);
      return place !== undefined && place.index < maxRequests ? bytesMax : undefined;
    },
    withFiles: (body, files) => {
      const requests = ownMember(body, 'requests');
      if (!Array.isArray(requests)) return body;
      const byIndex = Map.groupBy(files, ([name]) => placeInBatch(name)?.index);
      const changed = requests.map((request: unknown, index) => {
        const own = byIndex
          .get(index)
          ?.map(([name, file]) => [placeInBatch(name)?.field ?? '', file] as const);
        return own === undefined ? request : withFilesOfItem(request, own);
      });
      return { ...body, requests: changed };
    },
  };
}

function withFilesOfItem(request: unknown, files: readonly SentFile[]): unknown {
  if (!isJsonObject(request)) return request;
  const body = ownMember(request, 'body') ?? {};
  return isJsonObject(body) ? { ...request, body: withFiles(body, files) } : request;
}

function placeInBatch(name: string): { readonly index: number; readonly field: string } | undefined {
  const [, plain, inBrackets, field] = itemName.exec(name) ?? [];
  return field === undefined ? undefined : { index: Number(plain ?? inBrackets), field };
}
