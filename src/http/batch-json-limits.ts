import { jsonLimits, type JsonLimits } from '../base/json.ts';

/** An item's body is the fourth level of a batch: inside the body of the batch, its list of requests, and the item. */
export const batchJsonLimits: JsonLimits = { ...jsonLimits, uniqueDepth: 4 };
