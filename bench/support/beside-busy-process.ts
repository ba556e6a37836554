import { execFile } from 'node:child_process';

/** Measures while another process, of which the service knows nothing, takes a processor: what is slower then is the machine's part. */
export async function besideBusyProcess<Result>(measure: () => Promise<Result>): Promise<Result> {
  const busy = execFile(process.execPath, ['--eval', 'for (;;);']);
  try {
    return await measure();
  } finally {
    busy.kill('SIGKILL');
  }
}
