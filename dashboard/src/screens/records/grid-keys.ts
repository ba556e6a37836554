import type { KeyboardEvent } from 'react';

/** What the keys of the table do. */
export interface GridMovement {
  readonly current: number;
  readonly hasCell: boolean;
  /** Its editor is on its way: what is typed is for that. */
  readonly isEdited: boolean;
  readonly select: (position: number) => void;
  /** Says whether there is a cell so many columns on. */
  readonly selectColumn: (step: number) => boolean;
  readonly leaveCell: () => void;
  readonly open: () => void;
  readonly edit: () => void;
  /** The cell takes a text that is typed on it, in place of its value. Says whether it does. */
  readonly begin: (text: string) => boolean;
  readonly copy: () => boolean;
  readonly toggle: (isRange: boolean) => void;
  readonly toggleLoaded: () => void;
  readonly showMenu: () => void;
}

const pageStep = 15;
const farAway = Number.MAX_SAFE_INTEGER;

/** Does what a key of a spreadsheet does. What is typed into a control of a cell is not for the table. */
export function moveByKey(event: KeyboardEvent, movement: GridMovement): void {
  if (event.target !== event.currentTarget || event.altKey || event.nativeEvent.isComposing) return;
  const hasMod = event.metaKey || event.ctrlKey;
  const isDone = hasMod
    ? pressWithMod(event.key.toLowerCase(), movement)
    : move(event, movement) ||
      (movement.hasCell ? pressOnCell(event, movement) : pressOnRow(event, movement));
  if (isDone) event.preventDefault();
}

function pressWithMod(key: string, { toggleLoaded, copy, select, hasCell }: GridMovement): boolean {
  if (key === 'c') return hasCell && copy();
  if (key === 'a') toggleLoaded();
  else if (key === 'home') select(0);
  else if (key === 'end') select(farAway);
  else return false;
  return true;
}

/** Arrows and pages go through rows, with shift choosing them, and through the cells of a row. */
function move({ key, shiftKey }: KeyboardEvent, { current, select, ...movement }: GridMovement): boolean {
  const rows = { ArrowDown: 1, ArrowUp: -1, PageDown: pageStep, PageUp: -pageStep }[key];
  const columns = { ArrowRight: 1, ArrowLeft: -1 }[key];
  if (rows === undefined && columns === undefined) return false;
  if (shiftKey && rows !== undefined) movement.toggle(true);
  if (rows !== undefined) select(current + rows);
  if (columns !== undefined) movement.selectColumn(columns);
  return true;
}

function pressOnCell({ key, shiftKey }: KeyboardEvent, movement: GridMovement): boolean {
  if (movement.isEdited && key.length === 1) return movement.begin(key);
  // Beyond the last cell of the row, Tab leaves the table.
  if (key === 'Tab') return movement.selectColumn(shiftKey ? -1 : 1);
  if (key === 'Home') return movement.selectColumn(-farAway);
  if (key === 'End') return movement.selectColumn(farAway);
  if (key === 'Backspace' || key === 'Delete') return movement.begin('');
  if (key === 'Escape') movement.leaveCell();
  else if (key === 'Enter' || key === 'F2') movement.edit();
  else if (pressOnAny(key, shiftKey, movement)) return true;
  else return key.length === 1 && movement.begin(key);
  return true;
}

function pressOnRow({ key, shiftKey }: KeyboardEvent, movement: GridMovement): boolean {
  const { current, select } = movement;
  if (key === 'Home') select(0);
  else if (key === 'End') select(farAway);
  else if (key === 'j') select(current + 1);
  else if (key === 'k') select(current - 1);
  else if (key === 'x') movement.toggle(false);
  else if (key === 'm') movement.showMenu();
  else if (key === 'Enter') movement.open();
  else return pressOnAny(key, shiftKey, movement);
  return true;
}

function pressOnAny(key: string, shiftKey: boolean, { toggle, open, showMenu }: GridMovement): boolean {
  if (key === ' ' && shiftKey) toggle(false);
  else if (key === ' ') open();
  else if (key === 'ContextMenu') showMenu();
  else return false;
  return true;
}
