import { digest } from '../../secrets/digest.ts';

/** A document as it is sent. */
export interface Description {
  readonly json: string;
  readonly etag: string;
}

/** The tag tells documents apart, whoever asks for them. */
export function describe(json: string): Description {
  return { json, etag: `"${digest(json)}"` };
}
