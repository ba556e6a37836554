import type { JsonObject } from '../base/json.ts';
import type { NewFile } from '../fields/new-file.ts';
import type { Uploads } from '../files/uploads.ts';
import type { InstanceRequest } from './instance-request.ts';
import { type FormValues, formObject } from './parse-form.ts';

/** What a route takes of a form with files. */
export interface FormPlan {
  /** Of the whole form. */
  readonly bytesMax: number;
  /** Returns how large a file that is sent under this name may be; undefined for one that is not kept. */
  readonly fileBytesMax: (name: string) => number | undefined;
  /** Returns the body with files in their places: each has the name that it was sent under. */
  readonly withFiles: (body: JsonObject, files: readonly SentFile[]) => JsonObject;
}

export type SentFile = readonly [name: string, file: NewFile];

/**
 * Reads a form as it comes in, and returns it as the body of the request; undefined where the client has sent none. Its files go to the
 * disk. Throws payload_too_large, unavailable, storage_full, and bad_request for what is no form.
 */
export async function receiveForm(
  request: InstanceRequest,
  {
    plan,
    uploads,
    values,
  }: { readonly plan: FormPlan; readonly uploads: Uploads; readonly values: FormValues },
): Promise<JsonObject | undefined> {
  const files: SentFile[] = [];
  const entries = await request.readForm({
    bytesMax: plan.bytesMax,
    takeFile: async ({ name, originalName, content }) => {
      const bytesMax = plan.fileBytesMax(name);
      if (bytesMax === undefined) return passOver(content);
      const file = await uploads.receive({ originalName, content, bytesMax });
      files.push([name, file]);
      return file.size;
    },
  });
  if (entries === undefined) return undefined;
  const body = formObject([...request.query, ...entries], values);
  return files.length === 0 ? body : plan.withFiles(body, files);
}

async function passOver(content: AsyncIterable<Buffer>): Promise<0> {
  for await (const piece of content) void piece;
  return 0;
}
