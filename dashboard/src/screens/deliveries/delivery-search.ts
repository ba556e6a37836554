import { searchDecoder } from '../../parts/search-decoder.ts';

/** What the address of a delivery holds: which attempt is looked at, the last one if left out, and how. */
export const decodeDeliverySearch = searchDecoder({
  attempt: 'text',
  tab: ['response', 'request', 'event', 'signature'],
});

export type DeliveryTab = NonNullable<ReturnType<typeof decodeDeliverySearch>['tab']>;
