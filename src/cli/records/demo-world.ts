import type { JsonObject } from '../../base/json.ts';

/** A small world to look around in: shops that order from a catalogue. The same each time, apart from the password. */
export interface DemoWorld {
  readonly collections: readonly JsonObject[];
  /** By the name of their collection, in an order in which no relation leads to what is not there yet. */
  readonly records: ReadonlyMap<string, readonly JsonObject[]>;
}

const shopKinds = ['Bakery', 'Bookshop', 'Cafe', 'Grocery', 'Workshop'] as const;
const places = ['Harbour', 'Mill', 'Station', 'Park'] as const;
const goods = ['Bowl', 'Crate', 'Jug', 'Lamp', 'Tray', 'Vase'] as const;
const materials = ['Oak', 'Steel', 'Glass', 'Clay', 'Linen'] as const;
const states = ['open', 'paid', 'shipped', 'returned'] as const;

const counts = {
  customers: shopKinds.length * places.length,
  products: goods.length * materials.length,
  orders: 150,
};
const dayMs = 86_400_000;

/** Returns the world; its customers sign in with the password. Orders lie in the days before `now` (milliseconds since 1970). */
export function demoWorld({ password, now }: { readonly password: string; readonly now: number }): DemoWorld {
  return {
    collections: [customers, products, orders],
    records: new Map([
      ['customers', range(counts.customers).map((number) => customer(number, password))],
      ['products', range(counts.products).map(product)],
      ['orders', range(counts.orders).map((number) => order(number, now))],
    ]),
  };
}

const isOwn = 'customer = @request.auth.id';

const customers: JsonObject = {
  id: 'demo_customers',
  name: 'customers',
  type: 'auth',
  listRule: 'id = @request.auth.id',
  viewRule: 'id = @request.auth.id',
  fields: [
    { name: 'name', type: 'text', required: true, presentable: true },
    { name: 'city', type: 'select', values: [...places] },
  ],
};

const products: JsonObject = {
  id: 'demo_products',
  name: 'products',
  type: 'base',
  listRule: '',
  viewRule: '',
  fields: [
    { name: 'name', type: 'text', required: true, presentable: true },
    { name: 'price', type: 'number', min: 0 },
    { name: 'inStock', type: 'bool' },
    { name: 'properties', type: 'json' },
  ],
};

const orders: JsonObject = {
  id: 'demo_orders',
  name: 'orders',
  type: 'base',
  listRule: isOwn,
  viewRule: isOwn,
  createRule: `@request.auth.id != '' && ${isOwn} && status = 'open'`,
  fields: [
    { name: 'number', type: 'number', onlyInt: true, presentable: true },
    { name: 'customer', type: 'relation', collectionId: 'demo_customers', required: true, maxSelect: 1 },
    { name: 'products', type: 'relation', collectionId: 'demo_products', maxSelect: 5 },
    { name: 'status', type: 'select', values: [...states], required: true },
    { name: 'total', type: 'number', min: 0 },
    { name: 'ordered', type: 'date' },
    { name: 'note', type: 'text' },
  ],
  indexes: ['CREATE INDEX idx_orders_customer ON orders (customer)'],
};

function customer(number: number, password: string): JsonObject {
  const place = at(places, Math.floor(number / shopKinds.length));
  const kind = at(shopKinds, number);
  return {
    id: idOf('customer', number),
    name: `${place} ${kind}`,
    city: place,
    email: `${place}.${kind}@example.com`.toLowerCase(),
    emailVisibility: false,
    verified: number % 4 !== 0,
    password,
    passwordConfirm: password,
  };
}

function product(number: number): JsonObject {
  const material = at(materials, Math.floor(number / goods.length));
  return {
    id: idOf('product', number),
    name: `${material} ${at(goods, number).toLowerCase()}`,
    price: priceOf(number),
    inStock: number % 7 !== 0,
    properties: { material, weightGrams: 200 + number * 35 },
  };
}

function order(number: number, now: number): JsonObject {
  const products = range(1 + (number % 3)).map((step) => (number * 5 + step * 7) % counts.products);
  const cents = products.reduce((sum, one) => sum + Math.round(priceOf(one) * 100), 0);
  return {
    id: idOf('order', number),
    number: 1_000 + number,
    customer: idOf('customer', (number * 3) % counts.customers),
    products: products.map((one) => idOf('product', one)),
    status: at(states, number % 9 === 0 ? 3 : number % 3),
    total: cents / 100,
    ordered: new Date(now - ((counts.orders - number) * dayMs) / 5).toISOString(),
    note: number % 6 === 0 ? 'Ring twice.' : '',
  };
}

function priceOf(product: number): number {
  return Math.round(490 + ((product * 737) % 4_500)) / 100;
}

/** Ids have 15 characters: the same records have the same ids each time. */
function idOf(kind: string, number: number): string {
  return `${kind}${String(number + 1).padStart(15 - kind.length, '0')}`;
}

function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, number) => number);
}

/** Begins again behind the last one. */
function at<Item>(items: readonly Item[], number: number): Item {
  // The index is within the list, which is not empty.
  return items[number % items.length] as Item;
}
