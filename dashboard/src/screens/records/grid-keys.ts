import type { KeyboardEvent } from 'react';

/** What the keys of the table do. */
export interface GridMovement {
  readonly current: number;
  readonly hasCell: boolean;
  readonly select: (position: number) => void;
  readonly selectColumn: (step: number) => void;
  readonly leaveCell: () => void;
  readonly open: () => void;
  readonly edit: () => void;
  /** The cell takes a text that is typed on it, which begins with this. Says whether it does. */
  readonly begin: (text: string) => boolean;
  readonly toggle: (isRange: boolean) => void;
  readonly toggleLoaded: () => void;
  readonly showMenu: () => void;
}

const pageStep = 15;

/** Arrows go through rows and cells, Enter edits a cell, Space opens its record, `x` selects the row. What is typed into a control of a cell is not for the table. */
export function moveByKey(event: KeyboardEvent, movement: GridMovement): void {
  if (event.target !== event.currentTarget) return;
  const { current, select } = movement;
  const hasMod = event.metaKey || event.ctrlKey;
  if (hasMod && event.key !== 'a') return;
  if (event.shiftKey && event.key.startsWith('Arrow')) movement.toggle(true);
  switch (event.key) {
    case 'a':
      if (!hasMod) return;
      movement.toggleLoaded();
      break;
    case 'ArrowDown':
    case 'j':
      select(current + 1);
      break;
    case 'ArrowUp':
    case 'k':
      select(current - 1);
      break;
    case 'ArrowRight':
      movement.selectColumn(1);
      break;
    case 'ArrowLeft':
      movement.selectColumn(-1);
      break;
    case 'PageDown':
      select(current + pageStep);
      break;
    case 'PageUp':
      select(current - pageStep);
      break;
    case 'Home':
      select(0);
      break;
    case 'End':
      select(Number.MAX_SAFE_INTEGER);
      break;
    case 'x':
      movement.toggle(false);
      break;
    case ' ':
      if (event.shiftKey) movement.toggle(true);
      else movement.open();
      break;
    case 'ContextMenu':
    case 'm':
      movement.showMenu();
      break;
    case 'Escape':
      if (!movement.hasCell) return;
      movement.leaveCell();
      break;
    case 'Enter':
      if (movement.hasCell) movement.edit();
      else movement.open();
      break;
    default:
      if (!movement.hasCell || !movement.begin(event.key)) return;
  }
  event.preventDefault();
}
