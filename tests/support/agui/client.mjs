// The HttpAgent of @ag-ui/client as a process: a command as JSON on each line, an answer on each line.
// Its only argument is the folder whose node_modules has the package.

import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

const { HttpAgent } = createRequire(join(process.argv[2], "package.json"))("@ag-ui/client");

let agent;
console.error = () => {}; // failures are in the answers

async function run({ add = [], run = {}, leaveAfter }) {
  agent.messages.push(...add);
  const events = [];
  let error = null;
  const controller = new AbortController();
  const see = ({ event }) => {
    events.push(event);
    if (leaveAfter && event.type === leaveAfter) controller.abort();
  };
  try {
    await agent.runAgent({ ...run, abortController: controller }, { onEvent: see });
  } catch (caught) {
    error = { message: String(caught.message ?? caught), status: caught.status ?? null };
  }
  return {
    events,
    error,
    messages: agent.messages,
    state: agent.state,
    pending: agent.pendingInterrupts,
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  if (command.agent) agent = new HttpAgent(command.agent);
  if (command.state) agent.state = command.state;
  const answer = command.agent || command.state ? {} : await run(command);
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
