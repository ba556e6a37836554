import type { Delivery } from '../../api/events.ts';
import { deliveryStatuses } from '../../parts/delivery-words.ts';

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

/** Which deliveries the list shows. */
export interface DeliveriesSearch {
  readonly status?: Delivery['status'];
  /** The id of an endpoint. */
  readonly endpoint?: string;
  /** `1h`, `24h`, `7d`. */
  readonly from?: keyof typeof spanHours;
}

export const spanHours = { '1h': 1, '24h': 24, '7d': 168 } as const;
const spans = ['1h', '24h', '7d'] as const;

export function decodeDeliveriesSearch(search: Readonly<Record<string, unknown>>): DeliveriesSearch {
  const { endpoint } = search;
  const status = deliveryStatuses.find((one) => one === search['status']);
  const from = spans.find((one) => one === search['from']);
  return {
    ...(status !== undefined && { status }),
    ...(typeof endpoint === 'string' && endpoint !== '' && { endpoint }),
    ...(from !== undefined && { from }),
  };
}
