import type { Command } from 'commander';
import type { ApiRequest } from './api.ts';
import type { JsonObject } from '../../base/json.ts';
import { isSet, numberOf, textOf } from '../terminal/flags.ts';
import { type CommandIo, note } from '../terminal/print.ts';
import { type Column, showList } from '../terminal/show.ts';

/** Adds the flags that say which items of a list are shown, in which order and how many. */
export function addListOptions(
  command: Command,
  { filter, sort }: { readonly filter: string; readonly sort: string },
): void {
  command.option('--filter <FILTER>', `filter, such as "${filter}"`);
  command.option('--sort <FIELDS>', `sort order, such as "${sort}"`);
  command.option('--limit <COUNT>', 'page size, at most 1000', '30');
  command.option('--page <NUMBER>', 'page number', '1');
}

/** Returns the query of a list by its flags. The conditions, which other flags make, are joined to the filter. */
export function listQuery(
  command: Command,
  conditions: readonly string[] = [],
): NonNullable<ApiRequest['query']> {
  return {
    filter: filterOf(command, conditions),
    sort: textOf(command, 'sort'),
    perPage: numberOf(command, 'limit', { min: 1, max: 1_000 }),
    page: numberOf(command, 'page', { min: 1, max: 999_999_999 }),
    skipTotal: 'true',
  };
}

/** Shows a page that `listQuery` asked for, and says on a terminal where more may be. */
export async function showPage(
  io: CommandIo,
  command: Command,
  { items, columns }: { readonly items: readonly JsonObject[]; readonly columns: readonly Column[] },
): Promise<void> {
  const isJson = isSet(command, 'json');
  await showList(io, items, { columns, isJson });
  const page = Number(textOf(command, 'page'));
  if (!isJson && io.stdout.isTTY === true && items.length === Number(textOf(command, 'limit')))
    note(io, `More: --page ${page + 1}\n`);
}

/** Returns the filter that is given, and the conditions, as one; undefined where there is neither. */
export function filterOf(command: Command, conditions: readonly string[]): string | undefined {
  const filter = textOf(command, 'filter') ?? '';
  if (conditions.length === 0) return filter === '' ? undefined : filter;
  // In parentheses, so that no part of it binds to what stands beside it.
  return [...(filter === '' ? [] : [`(${filter})`]), ...conditions].join(' && ');
}
