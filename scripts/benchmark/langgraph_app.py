"""The same agent on LangGraph behind FastAPI; runs in an environment of its own, without oda."""

import json
import os
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from langchain_core.messages import AIMessageChunk, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI  # type: ignore[import-not-found]
from langgraph.checkpoint.sqlite.aio import (  # type: ignore[import-not-found]
    AsyncSqliteSaver,
)
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import BaseModel

_INSTRUCTION = SystemMessage("You add numbers with the tool add.")


class Question(BaseModel):
    message: str


@tool
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    model = ChatOpenAI(
        model="stub",
        base_url=os.environ["BENCH_MODEL_BASE"],
        api_key="stub",
        streaming=True,
        stream_usage=True,
    ).bind_tools([add])

    async def ask(state: MessagesState) -> MessagesState:
        return {"messages": [await model.ainvoke([_INSTRUCTION, *state["messages"]])]}

    graph = StateGraph(MessagesState)
    graph.add_node("agent", ask)
    graph.add_node("tools", ToolNode([add]))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", tools_condition)
    graph.add_edge("tools", "agent")
    async with AsyncSqliteSaver.from_conn_string(os.environ["BENCH_DATABASE"]) as saver:
        app.state.graph = graph.compile(checkpointer=saver)
        yield


app = FastAPI(lifespan=_lifespan)


@app.get("/health")
async def health() -> dict[str, bool]:
    return {"ok": True}


@app.post("/sessions")
async def new_session() -> dict[str, str]:
    return {"session_id": uuid.uuid4().hex}


@app.post("/sessions/{session_id}/turns")
async def turn(session_id: str, question: Question) -> StreamingResponse:
    async def frames() -> AsyncIterator[str]:
        answer = ""
        async for piece, about in app.state.graph.astream(
            {"messages": [HumanMessage(question.message)]},
            {"configurable": {"thread_id": session_id}},
            stream_mode="messages",
        ):
            if isinstance(piece, AIMessageChunk) and about["langgraph_node"] == "agent":
                answer += str(piece.content)
                yield f"data: {json.dumps({'text': piece.content})}\n\n"
        yield f"event: done\ndata: {json.dumps({'reply': answer})}\n\n"

    return StreamingResponse(frames(), media_type="text/event-stream")
