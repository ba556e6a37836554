import * as Popover from '@radix-ui/react-popover';
import ArrowDown from 'lucide-react/icons/arrow-down';
import ArrowUp from 'lucide-react/icons/arrow-up';
import Columns3 from 'lucide-react/icons/columns-3';
import { Button, IconButton } from '../../parts/button.tsx';
import { TypeIcon } from '../../parts/type-icon.tsx';
import type { Columns } from './column-layout.ts';

/** Which columns show, and in what order; the same as dragging headers, for keys. */
export function ColumnMenu({ columns }: { readonly columns: Columns }) {
  const { table, fieldOf, move, reset, isChanged } = columns;
  const all = table.getAllLeafColumns();
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
          {all.map((column, index) => {
            const field = fieldOf(column.id);
            const [before, after] = [all[index - 1], all[index + 1]];
            return (
              <div key={column.id} className="columns-item">
                <label>
                  <input
                    type="checkbox"
                    checked={column.getIsVisible()}
                    onChange={(event) => column.toggleVisibility(event.target.checked)}
                  />
                  {field !== undefined && <TypeIcon field={field} />}
                  <span className="cut">{column.id}</span>
                </label>
                <IconButton
                  small
                  label={`Move ${column.id} up`}
                  disabled={before === undefined}
                  onClick={() => before !== undefined && move(column.id, before.id)}
                >
                  <ArrowUp size={13} aria-hidden />
                </IconButton>
                <IconButton
                  small
                  label={`Move ${column.id} down`}
                  disabled={after === undefined}
                  onClick={() => after !== undefined && move(column.id, after.id)}
                >
                  <ArrowDown size={13} aria-hidden />
                </IconButton>
              </div>
            );
          })}
          {isChanged && (
            <>
              <div className="menu-line" />
              <button type="button" className="menu-item" onClick={reset}>
                As the definition has them
              </button>
            </>
          )}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
