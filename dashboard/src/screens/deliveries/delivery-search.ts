/** What the address of a delivery holds: which attempt is looked at, and how. */
export interface DeliverySearch {
  /** Its number; the last one if left out. */
  readonly attempt?: string;
  readonly tab?: DeliveryTab;
}

export const deliveryTabs = ['response', 'request', 'event', 'signature'] as const;
export type DeliveryTab = (typeof deliveryTabs)[number];

export function decodeDeliverySearch(search: Readonly<Record<string, unknown>>): DeliverySearch {
  const { attempt } = search;
  const tab = deliveryTabs.find((one) => one === search['tab']);
  return {
    ...(typeof attempt === 'string' && /^[1-9]\d{0,5}$/.test(attempt) && { attempt }),
    ...(tab !== undefined && { tab }),
  };
}
