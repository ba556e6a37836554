import { queryOptions } from '@tanstack/react-query';
import type { RecordModel } from './client.ts';
import { orFailure, client } from './client.ts';

/** What opens protected files. It is good for three minutes. */
export const fileTokenQuery = queryOptions({
  queryKey: ['file-token'],
  queryFn: async () => orFailure(client.files.getToken()),
  staleTime: 120_000,
  refetchInterval: 150_000,
});

export interface FileOptions {
  readonly thumb?: string;
  readonly token?: string | undefined;
}

export function fileUrl(record: RecordModel, name: string, { thumb, token }: FileOptions = {}): string {
  return client.files.getURL(record, name, {
    ...(thumb !== undefined && { thumb }),
    ...(token !== undefined && token !== '' && { token }),
  });
}

/** True for what the service makes thumbs of. */
export function isImage(name: string): boolean {
  return /\.(?:png|jpe?g|gif|webp)$/i.test(name);
}
