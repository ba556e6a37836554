/** A box of the picture, by its id, with its size. */
export interface LayoutNode {
  readonly id: string;
  readonly width: number;
  readonly height: number;
}

export interface LayoutEdge {
  readonly from: string;
  readonly to: string;
}

export interface PlacedNode extends LayoutNode {
  readonly x: number;
  readonly y: number;
}

export interface Layout {
  readonly nodes: readonly PlacedNode[];
  readonly width: number;
  readonly height: number;
}

const columnGap = 96;
const rowGap = 24;
const margin = 24;
const sweeps = 6;
/** A column of more than this becomes several: what has no relations would be one endless column. */
const columnHeightMax = 1_400;

/**
 * Places boxes in columns, so that edges lead to the right wherever there is no cycle, and few of them cross: each column is sorted by
 * the middle of the neighbours in the column beside it, several times to and fro. The same graph gives the same picture.
 */
export function layOut(nodes: readonly LayoutNode[], edges: readonly LayoutEdge[]): Layout {
  const real = edges.filter(({ from, to }) => from !== to);
  const layers = layersOf(nodes, withoutCycles(nodes, real));
  const columns = untangle(columnsOf(nodes, layers), real);
  return place(columns.flatMap(split));
}

/** Returns the edges, with those turned round that would lead back. */
function withoutCycles(nodes: readonly LayoutNode[], edges: readonly LayoutEdge[]): readonly LayoutEdge[] {
  const states = new Map<string, 'open' | 'done'>();
  const forward: LayoutEdge[] = [];
  const visit = (id: string): void => {
    states.set(id, 'open');
    for (const edge of edges.filter(({ from }) => from === id)) {
      const state = states.get(edge.to);
      if (state === 'open') forward.push({ from: edge.to, to: edge.from });
      else {
        forward.push(edge);
        if (state === undefined) visit(edge.to);
      }
    }
    states.set(id, 'done');
  };
  for (const { id } of nodes) if (!states.has(id)) visit(id);
  return forward;
}

/** The column of each node: one behind the last of those that lead to it. */
function layersOf(nodes: readonly LayoutNode[], edges: readonly LayoutEdge[]): ReadonlyMap<string, number> {
  const layers = new Map(nodes.map(({ id }) => [id, 0]));
  // As many rounds as there are nodes are enough for the longest way; most pictures settle after a few.
  for (let round = 0; round < nodes.length; round += 1) {
    let isSettled = true;
    for (const { from, to } of edges) {
      const least = (layers.get(from) ?? 0) + 1;
      if ((layers.get(to) ?? 0) >= least) continue;
      layers.set(to, least);
      isSettled = false;
    }
    if (isSettled) break;
  }
  return layers;
}

type Column = readonly LayoutNode[];

function columnsOf(nodes: readonly LayoutNode[], layers: ReadonlyMap<string, number>): readonly Column[] {
  const count = Math.max(0, ...layers.values()) + 1;
  return Array.from({ length: count }, (_, layer) => nodes.filter(({ id }) => layers.get(id) === layer));
}

function untangle(columns: readonly Column[], edges: readonly LayoutEdge[]): readonly Column[] {
  const ordered = [...columns];
  const neighbours = new Map<string, string[]>();
  for (const { from, to } of edges) {
    neighbours.set(from, [...(neighbours.get(from) ?? []), to]);
    neighbours.set(to, [...(neighbours.get(to) ?? []), from]);
  }
  for (let sweep = 0; sweep < sweeps; sweep += 1) {
    const indexes = [...ordered.keys()];
    if (sweep % 2 === 1) indexes.reverse();
    for (const index of indexes) {
      const beside = ordered[sweep % 2 === 0 ? index - 1 : index + 1] ?? [];
      const places = new Map(beside.map(({ id }, place) => [id, place]));
      const middle = ({ id }: LayoutNode, own: number): number => {
        const found = (neighbours.get(id) ?? []).flatMap((other) => places.get(other) ?? []);
        return found.length === 0 ? own : found.reduce((sum, place) => sum + place, 0) / found.length;
      };
      ordered[index] = (ordered[index] ?? [])
        .map((node, own) => ({ node, middle: middle(node, own) }))
        .toSorted((one, other) => one.middle - other.middle)
        .map(({ node }) => node);
    }
  }
  return ordered;
}

function split(column: Column): readonly Column[] {
  const parts: LayoutNode[][] = [[]];
  let height = 0;
  for (const node of column) {
    height += node.height + rowGap;
    if (height > columnHeightMax && parts.at(-1)?.length !== 0) {
      parts.push([]);
      height = node.height + rowGap;
    }
    parts.at(-1)?.push(node);
  }
  return parts;
}

function heightOf(column: Column): number {
  return column.reduce((sum, { height }) => sum + height, 0) + Math.max(0, column.length - 1) * rowGap;
}

function place(columns: readonly Column[]): Layout {
  const tallest = Math.max(0, ...columns.map(heightOf));
  const nodes: PlacedNode[] = [];
  let x = margin;
  for (const column of columns) {
    let y = margin + (tallest - heightOf(column)) / 2;
    for (const node of column) {
      nodes.push({ ...node, x, y });
      y += node.height + rowGap;
    }
    x += Math.max(0, ...column.map(({ width }) => width)) + columnGap;
  }
  return { nodes, width: Math.max(x - columnGap + margin, 0), height: tallest + 2 * margin };
}
