import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import Waypoints from 'lucide-react/icons/waypoints';
import { useMemo, useState } from 'react';
import { apiUrl, basePath, type Collection, type Field } from '../../api/client.ts';
import { collectionsQuery } from '../../api/collections.ts';
import { relationsOf } from '../../api/definitions.ts';
import { Bar } from '../../parts/bar.tsx';
import { Empty, LinkButton } from '../../parts/empty.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { PlaceholderLines } from '../../parts/placeholder-lines.tsx';
import { SystemSwitch } from '../../parts/system-switch.tsx';
import { layOut, type PlacedNode } from './layered-layout.ts';

const route = getRouteApi('/shell/diagram');

const boxWidth = 212;
const headHeight = 34;
const lineHeight = 22;
const linesMax = 9;

/** Collections as boxes and relations as arrows. A box leads to the schema of its collection. */
export function DiagramScreen() {
  const { system } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: collections, error, refetch } = useQuery(collectionsQuery);
  const shown = collections?.filter((one) => system === 'shown' || !one.system);
  return (
    <>
      <Bar title="Diagram">
        <SystemSwitch
          isOn={system === 'shown'}
          onChange={(isOn) => void navigate({ search: isOn ? { system: 'shown' } : {}, replace: true })}
        />
      </Bar>
      {error !== null && <FailureNotice error={error} onRetry={() => void refetch()} />}
      {shown === undefined && error === null && <PlaceholderLines count={6} />}
      {shown !== undefined && shown.length === 0 && <NoCollections />}
      {shown !== undefined && shown.length > 0 && <Diagram collections={shown} />}
    </>
  );
}

interface Arrow {
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly field: Field & { readonly maxSelect: number };
  /** The line of the box that it leaves from. */
  readonly line: number;
}

function Diagram({ collections }: { readonly collections: readonly Collection[] }) {
  const [focused, setFocused] = useState<string>();
  const { layout, arrows } = useMemo(() => draw(collections), [collections]);
  const boxes = new Map(layout.nodes.map((node) => [node.id, node]));
  const isNear = (arrow: Arrow): boolean => arrow.from === focused || arrow.to === focused;
  return (
    // It scrolls both ways, so keys have to reach it.
    <div className="diagram" tabIndex={0} role="region" aria-label="Collections and their relations">
      <svg
        width={layout.width}
        height={layout.height}
        viewBox={`0 0 ${layout.width} ${layout.height}`}
        role="group"
        aria-label={`${collections.length} collections, ${arrows.length} relations`}
      >
        <defs>
          <marker
            id="arrow"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="8"
            markerHeight="8"
            orient="auto"
          >
            <path d="M1 1 7 4 1 7" className="diagram-tip" />
          </marker>
        </defs>
        {arrows.map((arrow) => {
          const [from, to] = [boxes.get(arrow.from), boxes.get(arrow.to)];
          return from === undefined || to === undefined ? null : (
            <path
              key={arrow.key}
              d={curve(from, to, arrow.line)}
              className="diagram-arrow"
              data-many={arrow.field.maxSelect > 1 ? '' : undefined}
              data-near={isNear(arrow) ? '' : undefined}
              data-far={focused !== undefined && !isNear(arrow) ? '' : undefined}
              markerEnd="url(#arrow)"
            />
          );
        })}
        {collections.map((collection) => {
          const box = boxes.get(collection.id);
          return box === undefined ? null : (
            <Box key={collection.id} box={box} collection={collection} onFocus={setFocused} />
          );
        })}
      </svg>
    </div>
  );
}

function draw(collections: readonly Collection[]) {
  const nodes = collections.map((collection) => ({
    id: collection.id,
    width: boxWidth,
    height: headHeight + linesOf(collection).length * lineHeight + 8,
  }));
  const arrows = collections.flatMap((collection) =>
    relationsOf(collection)
      .filter(({ collectionId }) => collections.some(({ id }) => id === collectionId))
      .map((field) => ({
        key: `${collection.id}.${field.id}`,
        from: collection.id,
        to: field.collectionId,
        field,
        line: linesOf(collection).findIndex((line) => line.field?.id === field.id),
      })),
  );
  return { layout: layOut(nodes, arrows), arrows };
}

interface Line {
  readonly text: string;
  readonly type: string;
  readonly field?: Field;
}

/** The fields of a box, relations first where there are too many for all of them. */
function linesOf({ fields }: Collection): readonly Line[] {
  const own = fields.filter(
    ({ name, system, type }) =>
      (!system || type === 'relation') && !['id', 'created', 'updated'].includes(name),
  );
  const ordered =
    own.length <= linesMax
      ? own
      : own.toSorted((one, other) => Number(other.type === 'relation') - Number(one.type === 'relation'));
  const lines = ordered.slice(0, linesMax).map((field) => ({
    text: field.name,
    type: field.type === 'relation' && field.maxSelect > 1 ? 'relations' : field.type,
    field,
  }));
  const rest = own.length - lines.length;
  return rest > 0 ? [...lines, { text: `${rest} more`, type: '' }] : lines;
}

/** From the line of the field to the head of the box it leads to, around the boxes where that lies to the left. */
function curve(from: PlacedNode, to: PlacedNode, line: number): string {
  const y1 = from.y + headHeight + (Math.max(line, 0) + 0.5) * lineHeight + 2;
  const y2 = to.y + headHeight / 2;
  const x1 = from.x + from.width;
  if (to.x > x1) {
    const bend = Math.max(40, (to.x - x1) / 2);
    return `M${x1} ${y1}C${x1 + bend} ${y1} ${to.x - bend} ${y2} ${to.x} ${y2}`;
  }
  if (to.x < from.x) {
    const x2 = to.x + to.width;
    const bend = Math.max(40, (from.x - x2) / 2);
    return `M${from.x} ${y1}C${from.x - bend} ${y1} ${x2 + bend} ${y2} ${x2} ${y2}`;
  }
  const x2 = to.x + to.width;
  return `M${x1} ${y1}C${x1 + 56} ${y1} ${x2 + 56} ${y2} ${x2} ${y2}`;
}

interface BoxProps {
  readonly box: PlacedNode;
  readonly collection: Collection;
  readonly onFocus: (id: string | undefined) => void;
}

function Box({ box, collection, onFocus }: BoxProps) {
  const navigate = useNavigate();
  const { name, id } = collection;
  return (
    <a
      href={`${basePath}c/${encodeURIComponent(name)}/schema`}
      className="diagram-box"
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        void navigate({ to: '/c/$collection/schema', params: { collection: name } });
      }}
      onFocus={() => onFocus(id)}
      onBlur={() => onFocus(undefined)}
      onPointerEnter={() => onFocus(id)}
      onPointerLeave={() => onFocus(undefined)}
    >
      <rect x={box.x} y={box.y} width={box.width} height={box.height} rx={6} />
      <text x={box.x + 12} y={box.y + 22} className="diagram-name">
        {shorten(name, 24)}
      </text>
      {collection.type === 'auth' && (
        <text x={box.x + box.width - 12} y={box.y + 22} className="diagram-type" textAnchor="end">
          accounts
        </text>
      )}
      <line
        x1={box.x}
        x2={box.x + box.width}
        y1={box.y + headHeight}
        y2={box.y + headHeight}
        className="diagram-line"
      />
      {linesOf(collection).map(({ text, type }, index) => {
        const y = box.y + headHeight + (index + 0.5) * lineHeight + 6;
        return (
          <g key={text}>
            <text x={box.x + 12} y={y} className="diagram-field">
              {shorten(text, 20)}
            </text>
            <text x={box.x + box.width - 12} y={y} className="diagram-type" textAnchor="end">
              {type}
            </text>
          </g>
        );
      })}
    </a>
  );
}

function shorten(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`;
}

function NoCollections() {
  return (
    <Empty
      icon={Waypoints}
      title="Nothing to draw yet"
      actions={
        <LinkButton link={{ to: '/new-collection' }} tone="primary">
          New collection
        </LinkButton>
      }
      code={`curl ${apiUrl}/api/collections -H "Authorization: $TOKEN"`}
    >
      Collections are the boxes of this picture, and their relations the arrows.
    </Empty>
  );
}
