import * as Popover from '@radix-ui/react-popover';
import Columns3 from 'lucide-react/icons/columns-3';
import MoveHorizontal from 'lucide-react/icons/move-horizontal';
import { Button, IconButton } from '../button.tsx';
import type { TableLayout } from './table-layout.ts';

const step = 32;

/** Which columns show, and how wide: the same as dragging the edges of the head, for keys. */
export function TableColumns({ layout }: { readonly layout: TableLayout }) {
  const { table, labelOf, resize, isChanged, reset } = layout;
  return (
    <Popover.Root>
      <Popover.Trigger asChild>
        <Button tone="quiet" aria-label="Columns">
          <Columns3 size={15} aria-hidden />
        </Button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          className="floating"
          align="end"
          sideOffset={4}
          collisionPadding={8}
          aria-label="Columns"
        >
          {table.getAllLeafColumns().map((column) => (
            <div key={column.id} className="columns-item">
              <label>
                <input
                  type="checkbox"
                  checked={column.getIsVisible()}
                  disabled={!column.getCanHide()}
                  onChange={(event) => column.toggleVisibility(event.target.checked)}
                />
                <span className="cut">{labelOf(column.id)}</span>
              </label>
              <IconButton
                small
                label={`Width of ${labelOf(column.id)}: Enter widens, shift narrows`}
                onClick={(event) => resize(column.id, column.getSize() + (event.shiftKey ? -step : step))}
              >
                <MoveHorizontal size={13} aria-hidden />
              </IconButton>
            </div>
          ))}
          {isChanged && (
            <>
              <div className="menu-line" />
              <button type="button" className="menu-item" onClick={reset}>
                Reset columns
              </button>
            </>
          )}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
