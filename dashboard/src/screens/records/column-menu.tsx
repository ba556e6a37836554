import ArrowDown from 'lucide-react/icons/arrow-down';
import ArrowUp from 'lucide-react/icons/arrow-up';
import Pin from 'lucide-react/icons/pin';
import PinOff from 'lucide-react/icons/pin-off';
import { IconButton } from '../../parts/button.tsx';
import { ColumnsPopover, ColumnWidth } from '../../parts/columns-popover.tsx';
import { TypeIcon } from '../../parts/type-icon.tsx';
import type { Columns } from './column-layout.ts';

/** Which columns show, and in what order; the same as dragging headers, for keys. */
export function ColumnMenu({ columns }: { readonly columns: Columns }) {
  const { table, reset, isChanged } = columns;
  const all = table.getAllLeafColumns();
  return (
    <ColumnsPopover isChanged={isChanged} reset={reset} resetText="In the order of the definition">
      {all.map((column, index) => {
        const [before, after] = [all[index - 1]?.id, all[index + 1]?.id];
        return <ColumnItem key={column.id} columns={columns} column={column} before={before} after={after} />;
      })}
    </ColumnsPopover>
  );
}

interface ColumnItemProps {
  readonly columns: Columns;
  readonly column: ReturnType<Columns['table']['getAllLeafColumns']>[number];
  /** The names of its neighbours. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

function ColumnItem({ columns, column, before, after }: ColumnItemProps) {
  const { fieldOf, move, pinned, togglePin, resize } = columns;
  const field = fieldOf(column.id);
  return (
    <div className="columns-item">
      <label>
        <input
          type="checkbox"
          checked={column.getIsVisible()}
          onChange={(event) => column.toggleVisibility(event.target.checked)}
        />
        {field !== undefined && <TypeIcon field={field} />}
        <span className="cut">{column.id}</span>
      </label>
      <ColumnWidth label={column.id} width={column.getSize()} onWidth={(width) => resize(column.id, width)} />
      <IconButton
        small
        label={pinned.includes(column.id) ? `Unpin ${column.id}` : `Pin ${column.id}`}
        aria-pressed={pinned.includes(column.id)}
        onClick={() => togglePin(column.id)}
      >
        {pinned.includes(column.id) ? <PinOff size={13} aria-hidden /> : <Pin size={13} aria-hidden />}
      </IconButton>
      <IconButton
        small
        label={`Move ${column.id} up`}
        disabled={before === undefined}
        onClick={() => before !== undefined && move(column.id, before)}
      >
        <ArrowUp size={13} aria-hidden />
      </IconButton>
      <IconButton
        small
        label={`Move ${column.id} down`}
        disabled={after === undefined}
        onClick={() => after !== undefined && move(column.id, after)}
      >
        <ArrowDown size={13} aria-hidden />
      </IconButton>
    </div>
  );
}
