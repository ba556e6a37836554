import { jsonLimits, type JsonLimits } from '../base/json.ts';

/** The body of each request stands in an object, in a list, in the body of the batch: its top is the fourth level. */
export const batchJsonLimits: JsonLimits = { ...jsonLimits, uniqueDepth: 4 };
