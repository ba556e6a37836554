import Columns3 from 'lucide-react/icons/columns-3';
import MoveHorizontal from 'lucide-react/icons/move-horizontal';
import type { ReactNode } from 'react';
import { Button, IconButton } from './button.tsx';
import { Popover } from './popover.tsx';

interface ColumnsPopoverProps {
  readonly isChanged: boolean;
  readonly reset: () => void;
  /** What `reset` does, in words. */
  readonly resetText: string;
  /** A line for each column. */
  readonly children: ReactNode;
}

/** The button that opens the columns of a table. */
export function ColumnsPopover({ isChanged, reset, resetText, children }: ColumnsPopoverProps) {
  return (
    <Popover
      label="Columns"
      align="end"
      trigger={<Button icon={Columns3} tone="quiet" aria-label="Columns" />}
    >
      {children}
      {isChanged && (
        <>
          <div className="menu-line" />
          <button type="button" className="menu-item" onClick={reset}>
            {resetText}
          </button>
        </>
      )}
    </Popover>
  );
}

const step = 32;

interface ColumnWidthProps {
  readonly label: string;
  /** In pixels. */
  readonly width: number;
  readonly onWidth: (width: number) => void;
}

/** Changes the width of a column: the same as dragging the edge of its head, for keys. */
export function ColumnWidth({ label, width, onWidth }: ColumnWidthProps) {
  return (
    <IconButton
      icon={MoveHorizontal}
      small
      label={`Width of ${label}: Enter widens, shift narrows`}
      onClick={(event) => onWidth(width + (event.shiftKey ? -step : step))}
    />
  );
}
