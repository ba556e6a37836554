import { jsonLimits, type JsonLimits } from '../base/json.ts';

/**
 * An item's body is the fourth level of a batch: inside the body of the batch, its list of requests, and the item. A thousand items
 * may have a hundred members each.
 */
export const batchJsonLimits: JsonLimits = { ...jsonLimits, uniqueDepth: 4, uniqueMembersMax: 100_000 };
