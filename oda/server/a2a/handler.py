"""The request handler of `a2a-sdk` over our turns: what JSON-RPC and HTTP+JSON both ask for."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC
from typing import Any, cast

from a2a import types as a2a
from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.request_handler import RequestHandler, validate_request_params
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.errors import (
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    UnsupportedOperationError,
)
from a2a.utils.task import apply_history_length, validate_history_length, validate_page_size

from oda.server.a2a.calls import Call
from oda.server.a2a.cards import card_of
from oda.server.a2a.encoder import STATES, Update
from oda.server.a2a.refusals import in_protocol, refused
from oda.turn.user_turns import TurnFilter

CALL = "oda_call"
"""Name of the `Call` in a context's state."""

_STATUSES = {state: status for status, state in STATES.items()}


class TurnHandler(RequestHandler):
    """Holds nothing: all that it answers comes from the turns, on whatever node they ran."""

    @validate_request_params
    async def on_message_send(
        self, params: a2a.SendMessageRequest, context: ServerCallContext
    ) -> a2a.Task:
        call = _call(context)
        with in_protocol(call.request):
            _check(params)
            turn_id = (await call.begin(params)).turn.turn_id
            if not params.configuration.return_immediately:
                await call.oda.turns.wait(turn_id)
            return apply_history_length((await call.now(turn_id)).task, params.configuration)

    @validate_request_params
    async def on_message_send_stream(
        self, params: a2a.SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[a2a.Task | Update, None]:
        call = _call(context)
        with in_protocol(call.request):
            _check(params)
            begun = await call.begin(params)
            yield apply_history_length(begun.task, params.configuration)
            async with aclosing(call.updates(begun)) as updates:
                async for update in updates:
                    yield update

    @validate_request_params
    async def on_subscribe_to_task(
        self, params: a2a.SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[a2a.Task | Update, None]:
        call = _call(context)
        with in_protocol(call.request):
            begun = await call.now(params.id)
            if begun.turn.final:
                raise UnsupportedOperationError("The task has ended; get it instead.")
            yield begun.task
            async with aclosing(call.updates(begun)) as updates:
                async for update in updates:
                    yield update

    @validate_request_params
    async def on_get_task(self, params: a2a.GetTaskRequest, context: ServerCallContext) -> a2a.Task:
        call = _call(context)
        with in_protocol(call.request):
            validate_history_length(params)
            return apply_history_length((await call.now(params.id)).task, params)

    @validate_request_params
    async def on_list_tasks(
        self, params: a2a.ListTasksRequest, context: ServerCallContext
    ) -> a2a.ListTasksResponse:
        call = _call(context)
        with in_protocol(call.request):
            validate_history_length(params)
            size = (
                params.page_size if params.HasField("page_size") else DEFAULT_LIST_TASKS_PAGE_SIZE
            )
            validate_page_size(size)
            if params.status and params.status not in _STATUSES:
                return a2a.ListTasksResponse(page_size=size)
            since = params.status_timestamp_after
            wanted = TurnFilter(
                call.app,
                call.user_id,
                session_id=params.context_id or None,
                status=_STATUSES.get(params.status),
                changed_since=since.ToDatetime(UTC) if params.HasField(_SINCE) else None,
            )
            page = await call.oda.turns.of_user(
                wanted, limit=size, cursor=params.page_token or None
            )
            files = params.include_artifacts
            return a2a.ListTasksResponse(
                tasks=[await call.listed(turn, with_files=files) for turn in page.turns],
                next_page_token=page.next_cursor or "",
                page_size=size,
                total_size=page.total,
            )

    @validate_request_params
    async def on_cancel_task(
        self, params: a2a.CancelTaskRequest, context: ServerCallContext
    ) -> a2a.Task:
        call = _call(context)
        with in_protocol(call.request):
            if (await call.turn(params.id)).final:
                raise refused(call.request, TaskNotCancelableError("The task has ended."), 409)
            await call.oda.turns.cancel(params.id, call.user_id)
            return (await call.now(params.id)).task

    @validate_request_params
    async def on_get_extended_agent_card(
        self, params: a2a.GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> a2a.AgentCard:
        call = _call(context)
        with in_protocol(call.request):
            return await card_of(call.oda, call.app, call.url, is_open=call.is_open, extended=True)

    async def on_create_task_push_notification_config(
        self, params: a2a.TaskPushNotificationConfig, context: ServerCallContext
    ) -> a2a.TaskPushNotificationConfig:
        raise PushNotificationNotSupportedError

    async def on_get_task_push_notification_config(
        self, params: a2a.GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> a2a.TaskPushNotificationConfig:
        raise PushNotificationNotSupportedError

    async def on_list_task_push_notification_configs(
        self, params: a2a.ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> a2a.ListTaskPushNotificationConfigsResponse:
        raise PushNotificationNotSupportedError

    async def on_delete_task_push_notification_config(
        self, params: a2a.DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        raise PushNotificationNotSupportedError


_SINCE: Any = "status_timestamp_after"


def _call(context: ServerCallContext) -> Call:
    return cast(Call, context.state[CALL])


def _check(params: a2a.SendMessageRequest) -> None:
    validate_history_length(params.configuration)
    if params.configuration.HasField("task_push_notification_config"):
        raise PushNotificationNotSupportedError
