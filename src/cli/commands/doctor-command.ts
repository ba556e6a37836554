import { Command } from 'commander';
import { countChecksumFailures } from '../../storage/postgres/count-checksum-failures.ts';
import type { Config } from '../../config/config.ts';
import { checkConnection } from '../doctor/check-connection.ts';
import { checkInstance } from '../doctor/check-instance.ts';
import {
  checkFiles,
  checkNode,
  checkOwnCertificate,
  checkSpace,
  checkSync,
} from '../doctor/check-machine.ts';
import { readReports, reportLines } from '../../hosts/long-turn-record.ts';
import { type Check, hasNoFailure, showChecks } from '../doctor/checks.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { operatorMessage } from '../terminal/exit-code.ts';
import { configOf, isSet } from '../terminal/flags.ts';
import type { CommandIo } from '../terminal/print.ts';
import { addApiFlags, findServiceUrl, withApi } from '../api/with-api.ts';
import { requireDataDirectory, withDataDirectory } from '../api/with-instance.ts';

/** `doctor` */
export function doctorCommand(io: CommandIo): Command {
  const command = new Command('doctor').description(
    'check that everything works, and show what to do if not',
  );
  addApiFlags(command);
  command.action(async () => {
    const url = await findServiceUrl(command, io);
    const outside = url === undefined ? await checkData(configOf(command, io)) : await checkConnection(url);
    const inside = await checkInside(command, io, outside);
    const checks = [checkNode(), ...outside, ...inside];
    await showChecks(io, checks, { isJson: isSet(command, 'json'), verdict: 'well' });
    if (!hasNoFailure(checks)) throw new CommandError(exitCodes.no, '');
  });
  return command;
}

/** Checks the data of this machine without opening it, which would upgrade it. */
async function checkData(config: Config): Promise<readonly Check[]> {
  const certificate = await checkOwnCertificate(config);
  const own = certificate === undefined ? [] : [certificate];
  if (config.postgres !== undefined) return [await checkPostgres(config), ...own];
  try {
    requireDataDirectory(config);
  } catch (error) {
    const advice = 'Name it by --data, or a service by --url.';
    return [{ name: 'database', state: 'failure', message: operatorMessage(error), advice }, ...own];
  }
  const { data } = config;
  return [await checkSpace(data), await checkSync(data), ...checkFiles(data), ...own];
}

/** Shows which instances have kept others waiting. */
async function checkTurns(config: Config): Promise<readonly Check[]> {
  const name = 'long turns';
  const reports = await withDataDirectory(config, ({ home }) => readReports(home.control), 'fail');
  const lines = reports.flatMap(reportLines);
  if (lines.length === 0)
    return [{ name, state: 'ok', message: 'No instance has kept others waiting lately.' }];
  const advice = 'Look at its request log, and limit it by rate limits: docs/capacity.md, Long turns.';
  return lines.map((message) => ({ name, state: 'warning', message, advice }));
}

async function checkPostgres(config: Config): Promise<Check> {
  const name = 'database';
  try {
    const failures = await withDataDirectory(
      config,
      ({ home }) => countChecksumFailures(home.control),
      'fail',
    );
    if (failures === undefined)
      return { name, state: 'ok', message: 'It can be reached. Its server keeps no checksums of pages.' };
    if (failures === 0)
      return { name, state: 'ok', message: 'It can be reached, and no damaged page was found.' };
    const message = `The server has found ${failures} damaged pages.`;
    return { name, state: 'failure', message, advice: 'Keep a copy as it is, and restore a backup.' };
  } catch (error) {
    const advice = 'Does the server run, and are its URL, password and the master key right?';
    return { name, state: 'failure', message: operatorMessage(error), advice };
  }
}

/** Asks the instance itself, where nothing speaks against opening it. */
async function checkInside(
  command: Command,
  io: CommandIo,
  outside: readonly Check[],
): Promise<readonly Check[]> {
  const isOpenable = hasNoFailure(outside.filter(({ name }) => name !== 'certificate' && name !== 'clock'));
  const isOfThisVersion = outside.every(({ name, state }) => name !== 'migrations' || state === 'ok');
  if (!isOpenable || !isOfThisVersion)
    return [
      { name: 'instance', state: 'warning', message: 'It was not checked.', advice: 'See above first.' },
    ];
  try {
    const own =
      (await findServiceUrl(command, io)) === undefined ? await checkTurns(configOf(command, io)) : [];
    return [...(await withApi(command, io, checkInstance)), ...own];
  } catch (error) {
    return [{ name: 'instance', state: 'failure', message: operatorMessage(error) }];
  }
}
