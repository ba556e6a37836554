import { Command } from 'commander';
import { dataFlags, outwardFlags } from '../../config/config-flags.ts';
import { eventSelections } from '../../operator/operator-endpoint.ts';
import {
  createOperatorEndpoint,
  deleteOperatorEndpoint,
  listOperatorEndpoints,
  testOperatorEndpoint,
} from '../../operator/operator-endpoints.ts';
import { withOperator } from '../api/with-operator.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { addFlags, isSet, textOf } from '../terminal/flags.ts';
import { type CommandIo, note, print } from '../terminal/print.ts';
import { type Column, showList } from '../terminal/show.ts';

/** `operator endpoint create|list|test|delete` */
export function operatorEndpointCommand(io: CommandIo): Command {
  const command = new Command('endpoint').description('manage endpoints for events of instances');
  addCreate(command, io);
  addList(command, io);
  addTest(command, io);
  addDelete(command, io);
  return command;
}

function addCreate(parent: Command, io: CommandIo): void {
  const command = parent.command('create').description('create an endpoint, and print its secret');
  command.argument('<url>', 'where webhooks are sent');
  command.option('--events <EVENTS>', `some of ${eventSelections.join(',')}`, '*');
  command.option('--description <TEXT>', 'a note');
  command.option('--from <CURSOR>', 'cursor of the feed to begin after, otherwise its end');
  addFlags(command, [...dataFlags, ...outwardFlags]);
  command.action(async (url: string) => {
    const description = textOf(command, 'description');
    const from = textOf(command, 'from');
    const events = textOf(command, 'events') ?? '';
    const body = {
      url,
      events: events.split(',').map((one) => one.trim()),
      ...(description !== undefined && { description }),
      ...(from !== undefined && { from }),
    };
    const { id, secret } = await withOperator(command, io, (operator) =>
      createOperatorEndpoint(operator, body, 'operator'),
    );
    note(io, `The secret of endpoint ${String(id)} is shown only once:\n`);
    await print(io, `${String(secret)}\n`);
  });
}

const columns: readonly Column[] = [
  'id',
  'status',
  'url',
  { title: 'events', of: ({ events }) => [events].flat().join() },
  'behind',
  'skipped',
  'failingSince',
  { title: 'why', of: ({ lastError }) => lastError },
];

function addList(parent: Command, io: CommandIo): void {
  const command = parent.command('list').description('show all endpoints, and which of them fail');
  command.option('--json', 'print JSON');
  addFlags(command, dataFlags);
  command.action(async () => {
    const endpoints = await withOperator(command, io, listOperatorEndpoints);
    await showList(io, endpoints, { columns, isJson: isSet(command, 'json') });
  });
}

function addTest(parent: Command, io: CommandIo): void {
  const command = parent.command('test').description('send the event `ping` once');
  command.argument('<id>');
  addFlags(command, [...dataFlags, ...outwardFlags]);
  command.action(async (id: string) => {
    const { isDelivered, status, error } = await withOperator(command, io, (operator) =>
      testOperatorEndpoint(operator, id),
    );
    if (!isDelivered) throw new CommandError(exitCodes.no, error);
    await print(io, `Delivered: status ${String(status)}.\n`);
  });
}

function addDelete(parent: Command, io: CommandIo): void {
  const command = parent.command('delete').description('delete an endpoint');
  command.argument('<id>');
  addFlags(command, dataFlags);
  command.action(async (id: string) => {
    await withOperator(command, io, (operator) =>
      deleteOperatorEndpoint(operator, { id, actor: 'operator' }),
    );
    await print(io, `Endpoint ${id} deleted.\n`);
  });
}
