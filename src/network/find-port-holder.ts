import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/**
 * Returns which process listens on a TCP port of this machine, as `node (process 1234)`; undefined where that cannot be found out: on systems
 * without `/proc`, and for processes of other users (proc_pid_net(5), proc_pid_fd(5)).
 */
export function findPortHolder(port: number): string | undefined {
  try {
    const sockets = new Set(['tcp', 'tcp6'].flatMap((table) => listenersIn(`/proc/self/net/${table}`, port)));
    const id = readdirSync('/proc').find((name) => /^\d+$/.test(name) && holdsOne(name, sockets));
    if (id === undefined) return undefined;
    return `${readFileSync(`/proc/${id}/comm`, 'utf8').trim()} (process ${id})`;
  } catch {
    // It is only a help.
    return undefined;
  }
}

/** Returns the links of the sockets that listen on the port, as they stand in the folders of processes. */
function listenersIn(file: string, port: number): readonly string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = readFileSync(file, 'utf8').split('\n').slice(1);
  return rows.flatMap((row) => {
    const [, local = '', , state, , , , , , inode] = row.trim().split(/\s+/);
    const isListening = state === '0A';
    return isListening && local.endsWith(suffix) ? [`socket:[${inode}]`] : [];
  });
}

function holdsOne(id: string, sockets: ReadonlySet<string>): boolean {
  try {
    return readdirSync(`/proc/${id}/fd`).some((fd) => sockets.has(readlinkSync(`/proc/${id}/fd/${fd}`)));
  } catch {
    // It has ended, or is another user's.
    return false;
  }
}
